"""How values of params become texts, and the params of a network's inputs, under the JVM's names and documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol
from pyspark.ml.wrapper import JavaParams
from pyspark.sql.utils import is_remote

from bloomery.json_text import json_text, plain_number
from bloomery.losses import Loss
from bloomery.metrics import Metric
from bloomery.names import camel_case, unknown_keyword, user_code
from bloomery.network import Network
from bloomery.optimizers import Optimizer, optimizer_dict

if TYPE_CHECKING:
    from typing_extensions import Self


def number(value: Any) -> float:
    """A number, of NumPy too."""
    return TypeConverters.toFloat(plain_number(value))


def whole_number(value: Any) -> int:
    """A number that the JVM keeps in 32 bits."""
    return _whole(value, 31)


def large_whole_number(value: Any) -> int:
    """A number that the JVM keeps in 64 bits."""
    return _whole(value, 63)


def _whole(value: Any, bits: int) -> int:
    number = TypeConverters.toInt(plain_number(value))
    if not -(2**bits) <= number < 2**bits:
        raise TypeError(f"Too large: {number}, give a whole number from {-(2**bits)} to {2**bits - 1}")
    return number


def network_json(value: Any) -> str:
    """A network as the param holds it: its JSON."""
    if isinstance(value, Network):
        return value.to_json()
    if isinstance(value, str):
        return value
    if hasattr(value, "get_config"):
        raise TypeError(f"A model of Keras: give what bloomery.from_keras makes of it, instead of {value!r}")
    raise TypeError(f"A network is a bloomery.Sequential or bloomery.Model, or its JSON: {value!r}")


def optimizer_text(value: Any) -> str:
    """A name, or an optimizer or a dict such as {"kind": "adam", "learning_rate": 0.01} as JSON."""
    if isinstance(value, Optimizer):
        return json_text(value.to_dict())
    if isinstance(value, dict):
        return json_text(optimizer_dict(value))
    _refuse_user_code(value)
    return TypeConverters.toString(value)


def loss_text(value: Any) -> str:
    """A name, or a loss or a dict such as {"kind": "huber", "delta": 2.0} as JSON."""
    return _options_text(value, Loss)


def metric_texts(value: Any) -> list[str]:
    """Each a name, or a metric or a dict as JSON."""
    return TypeConverters.toListString([_options_text(each, Metric) for each in TypeConverters.toList(value)])


def class_weights_text(value: Any) -> str:
    """A dict of class index and weight or a list with a weight for each class, as JSON, or a dict of them by output."""
    return json_text(_weights(value)) if isinstance(value, dict | list | tuple) else TypeConverters.toString(value)


def _weights(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_weights(each) for each in value]
    return {str(key): _weights(each) for key, each in value.items()} if isinstance(value, dict) else float(value)


def column_texts(value: Any) -> list[str]:
    """Each a name, or a dict such as {"column": "carrier", "hash_buckets": 100} as JSON."""
    return TypeConverters.toListString([_options_text(each) for each in TypeConverters.toList(value)])


def _options_text(value: Any, kind: type[Loss | Metric] | None = None) -> str:
    if kind is not None and isinstance(value, kind):
        return json_text(value.to_dict())
    if isinstance(value, dict):
        return json_text({camel_case(key): option for key, option in value.items()})
    _refuse_user_code(value)
    return TypeConverters.toString(value)


def by_name_text(value: Any) -> str:
    """A dict by the names of inputs or outputs as JSON; it may hold losses, metrics, dicts or lists of them."""
    if isinstance(value, dict):
        return json_text({name: _plain(each) for name, each in value.items()})
    return TypeConverters.toString(value)


def metrics_by_output_text(value: Any) -> str:
    """A list of metrics for all outputs, or a dict with one for each, as JSON."""
    return json_text(_plain(value)) if isinstance(value, list | tuple) else by_name_text(value)


def loss_by_output_text(value: Any) -> str:
    """One loss for all outputs, or a dict with one for each, of which one may be called kind."""
    if isinstance(value, dict):
        others = [each for key, each in value.items() if key != "kind"]
        if not isinstance(value.get("kind"), str) or any(isinstance(each, (str, dict, Loss)) for each in others):
            return by_name_text(value)
    return loss_text(value)


def _plain(value: Any) -> Any:
    if isinstance(value, (Loss, Metric)):
        return value.to_dict()
    if isinstance(value, dict):
        return {camel_case(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    _refuse_user_code(value)
    return value


def _refuse_user_code(value: Any) -> None:
    if callable(value):
        raise user_code(value)


def clear(stage: JavaParams, param: Param[Any]) -> None:
    """Takes back what a param was set to, over Spark Connect as well, where pyspark's own clear does nothing."""
    if is_remote():
        Params.clear(stage, param)
    else:
        JavaParams.clear(stage, param)


class Settable(Params):
    """Params that can be set by their names, in camelCase or snake_case."""

    def setParams(self, **params: Any) -> Self:
        """Sets any params, by the names that the constructor takes; None takes back what a param was set to."""
        named: dict[str, Any] = {}
        for name, value in params.items():
            param = camel_case(name)
            if not self.hasParam(param):
                raise unknown_keyword(type(self).__name__, name, [each.name for each in self.params])
            if param in named:
                raise TypeError(f"{type(self).__name__} has a param twice: {param}")
            named[param] = value
        self._set(**{param: value for param, value in named.items() if value is not None})
        for param, value in named.items():
            if value is None and self.isSet(param):
                self.clear(self.getParam(param))
        return self


class InputParams(Settable):
    """What nulls and NaN among the features are."""

    _owner = Params._dummy()

    nulls: Param[str] = Param(
        _owner, "nulls", "what a null among the features is: error, zero or mean", TypeConverters.toString
    )
    nans: Param[str] = Param(
        _owner, "nans", "what NaN or an infinity among the features is: error or pass", TypeConverters.toString
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(nulls="error", nans="error")

    def getNulls(self) -> str:
        """What a null among the features is."""
        return self.getOrDefault(self.nulls)

    def getNans(self) -> str:
        """What NaN or an infinity among the features is."""
        return self.getOrDefault(self.nans)

    def setNulls(self, value: str) -> Self:
        """What a null among the features is: error, zero or mean."""
        return self.setParams(nulls=value)

    def setNans(self, value: str) -> Self:
        """What NaN or an infinity among the features is: error or pass."""
        return self.setParams(nans=value)


class FeatureParams(InputParams, HasFeaturesCol):
    """The columns of a network with one input."""

    _owner = Params._dummy()

    featuresCols: Param[list[str]] = Param(
        _owner,
        "featuresCols",
        "several columns that make up the input, in this order, instead of featuresCol: names, or JSON such as "
        '{"column": "carrier", "vocabulary": ["AA", "DL"]}',
        column_texts,
    )

    def getFeaturesCols(self) -> list[str]:
        """The columns that make up the input, each a name or JSON."""
        return self.getOrDefault(self.featuresCols)

    def setFeaturesCol(self, value: str) -> Self:
        """The column of the network's input."""
        return self.setParams(featuresCol=value)

    def setFeaturesCols(self, value: list[str | dict[str, Any]] | list[str]) -> Self:
        """Several columns that make up the input, instead: names, or dicts with column and options."""
        return self.setParams(featuresCols=value)


class NamedInputParams(InputParams):
    """The columns of a network with any number of inputs, each known by its name."""

    _owner = Params._dummy()

    inputCols: Param[str] = Param(
        _owner,
        "inputCols",
        'the columns of each input, as JSON such as {"image": "pixels", "place": ["x", "y"]}; an input that is not'
        " named takes the column of its own name",
        by_name_text,
    )

    def getInputCols(self) -> str:
        """The columns of each input, as JSON."""
        return self.getOrDefault(self.inputCols)

    def setInputCols(self, value: dict[str, Any] | str) -> Self:
        """The columns of each input: {input: column}, or a list of columns, each a name or a dict with options."""
        return self.setParams(inputCols=value)

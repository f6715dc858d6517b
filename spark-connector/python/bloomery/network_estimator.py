"""What the estimators share: their keywords, and one way to fit."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pyspark.ml.base import _FitMultipleIterator
from pyspark.ml.param import Param
from pyspark.ml.wrapper import JavaEstimator
from pyspark.sql import SparkSession

from bloomery import jvm
from bloomery.callbacks import Callback, Callbacks
from bloomery.errors import translated
from bloomery.interrupt import interruptible
from bloomery.model import NetworkModel
from bloomery.names import camel_case
from bloomery.notebook import progress_bar
from bloomery.params import clear
from bloomery.persistence import Writable
from bloomery.training_params import TrainingParams

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.ml._typing import ParamMap
    from pyspark.sql import DataFrame
    from typing_extensions import Self

M = TypeVar("M", bound=NetworkModel)


class NetworkEstimator(JavaEstimator[M], TrainingParams, Writable):
    """Trains a neural network inside Spark's executors.

    Every param is a keyword, in camelCase or snake_case; `explainParams()` tells what each does. `callbacks` are
    functions that are told of every epoch, as `model.summary.history` has it; one that returns a true value ends the
    training, one that raises ends the fit with its exception.
    """

    _model_class: ClassVar[type[Any]]

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._callbacks: list[Callback] = []
        java_name = f"io.bloomery.{type(self).__name__}"
        if jvm.is_remote():
            self._java_obj = java_name  # all that the server is told beside the params
        else:
            self._java_obj = jvm.java_class(java_name)(self.uid)
            self._transfer_params_from_java()
        self.setParams(**params)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Editors and notebooks ask a constructor for its keywords."""
        super().__init_subclass__(**kwargs)
        names = [name for name in dir(cls) if isinstance(getattr(cls, name, None), Param)]

        def __init__(self: Any, **params: Any) -> None:
            super(cls, self).__init__(**params)

        parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        for name in [*names, "callbacks"]:
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None))
        __init__.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        __init__.__doc__ = "Takes every param as a keyword, in camelCase or snake_case."
        cls.__init__ = __init__  # type: ignore[method-assign]

    def setParams(self, **params: Any) -> Self:
        """Sets any params, by the names that the constructor takes."""
        plain: dict[str, Any] = {}
        for name, value in params.items():
            if name == "callbacks":
                self.setCallbacks(value)
            elif camel_case(name) == "initialModel" and isinstance(value, NetworkModel):
                self._begin_with(value)
            elif camel_case(name) == "initialModel" and value is None:
                self.clear(self.initialModel)
            else:
                plain[name] = value
        return super().setParams(**plain)

    def clear(self, param: Param[Any]) -> None:
        """Takes back what a param was set to."""
        clear(self, param)
        if param == self.initialModel and not jvm.is_remote():
            assert self._java_obj is not None
            self._java_obj.withoutInitialModel()

    def setCallbacks(self, value: Iterable[Callback] | Callback | None) -> Self:
        """Functions that are told of every epoch; one that returns a true value ends the training."""
        several = isinstance(value, Iterable) and not callable(value)
        given: Any = [] if value is None else value if several else [value]
        functions = list(given)
        for function in functions:
            if not callable(function):
                raise TypeError(f"A callback must be callable: {function!r}")
        self._callbacks = functions
        if self._callbacks and jvm.is_remote():
            raise jvm.out_of_reach(
                "callbacks, which the server would have to call here",
                "stop early with earlyStoppingPatience, or fit in a session of"
                " bloomery.spark_session_builder().master(...)",
            )
        return self

    def describe(self, dataset: DataFrame) -> str:
        """What `fit` would do with this data, as text, without running a job: print it.

        Which way the rows come and to which worker, what becomes of each column, when the first step is, memory,
        threads, and whether a repeated fit gives the same bits.
        """
        if jvm.is_remote():
            raise jvm.out_of_reach(
                "describe",
                "fit says before it reads a row what cannot work; describe in a session of"
                " bloomery.spark_session_builder().master(...)",
            )
        jvm.needs_frame(dataset)
        assert self._java_obj is not None
        self._transfer_params_to_java()
        with translated():
            return str(self._java_obj.describe(dataset._jdf))

    def fitOnParquet(self, path: str) -> M:
        """Fits on all rows of a Parquet file or folder, of any file system that Spark knows."""
        if jvm.is_remote():
            return self.fit(SparkSession.active().read.parquet(path))
        model = self._create_model(self._fitted(lambda estimator, _: estimator.fitOnParquet(path)))
        return self._copyValues(model)

    def fitMultiple(self, dataset: DataFrame, paramMaps: Sequence[ParamMap]) -> Iterator[tuple[int, M]]:
        """Models of all param maps, each with its index; pyspark's tuners and `fit(df, [...])` call this.

        Rows are read once for all param maps that want the same of them, and trained on one after the other, in one
        stage, when the first model is asked for; over Spark Connect each fit is one of its own.
        """
        jvm.needs_frame(dataset)
        if jvm.is_remote():
            return super().fitMultiple(dataset, paramMaps)
        estimators = [self.copy(each) for each in paramMaps]
        lock = threading.Lock()
        models: list[M] = []

        def fitted(index: int) -> M:
            with lock:
                if not models:
                    models.extend(self._fit_each(dataset, estimators))
            return models[index]

        return _FitMultipleIterator(fitted, len(estimators))

    def _fit_each(self, dataset: DataFrame, estimators: list[Self]) -> list[M]:
        def fit(estimator: JavaObject, callbacks: Callbacks | None) -> Any:
            copies = jvm.java_class("java.util.ArrayList")()
            for each in estimators:
                each._transfer_params_to_java()
                assert each._java_obj is not None
                copy = each._java_obj.copy(self._empty_java_param_map())
                copies.add(copy if callbacks is None else copy.withCallback(callbacks))
            return estimator.fitEach(dataset._jdf, copies)

        java_models = self._fitted(fit)
        return [
            each._copyValues(each._create_model(java_model))
            for each, java_model in zip(estimators, java_models, strict=True)
        ]

    def _begin_with(self, model: NetworkModel) -> None:
        if jvm.is_remote():
            raise jvm.out_of_reach("a model from another fit", "save it, and set initialModel to its path")
        assert self._java_obj is not None
        self.clear(self.initialModel)
        self._java_obj.setInitialModel(model._java_obj)

    def _fit(self, dataset: DataFrame) -> M:
        jvm.needs_frame(dataset)
        with translated():
            return super()._fit(dataset)

    def _fit_java(self, dataset: DataFrame) -> JavaObject:
        return self._fitted(lambda estimator, _: estimator.fit(dataset._jdf))

    def _fitted(self, fit: Callable[[JavaObject, Callbacks | None], Any]) -> Any:
        """What `fit` makes of the estimator, which calls the callbacks already: copies of it do not."""
        assert self._java_obj is not None
        self._transfer_params_to_java()
        if not self._callbacks:
            with progress_bar(self.uid, self.getVerbose()), interruptible(), translated():
                return fit(self._java_obj, None)
        callbacks = Callbacks(self._callbacks)
        called = self._java_obj.copy(self._empty_java_param_map()).withCallback(callbacks)
        try:
            with progress_bar(self.uid, self.getVerbose()), interruptible(), translated():
                return fit(called, callbacks)
        except Exception:
            if callbacks.error is not None:
                raise callbacks.error from None
            raise

    def _create_model(self, java_model: JavaObject) -> M:
        model: M = self._model_class(java_model)
        if jvm.is_remote():
            model._fitted_network = self.getNetwork() if self.isSet(self.network) else None
        else:
            model._transfer_params_from_java()
        return model

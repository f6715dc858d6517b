"""The optimizers, with Keras's names and options. See docs/training-json.md for each option's meaning.

>>> NeuralNetClassifier(optimizer=optimizers.Adam(0.01), ...)

An optimizer only writes down what it was given; defaults and checks belong to the engine. A learning rate is a number
or one of `bloomery.schedules`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from bloomery.names import camel_case, suggesting
from bloomery.schedules import Schedule

LearningRate = float | Schedule


class Optimizer:
    """One optimizer: its kind and the options that were given."""

    kind: ClassVar[str]

    def __init__(self, **options: Any) -> None:
        self._json = optimizer_dict({"kind": self.kind, **options})

    def to_dict(self) -> dict[str, Any]:
        """The optimizer as the training JSON has it."""
        return dict(self._json)

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self._json.items() if key != "kind")
        return f"{type(self).__name__}({options})"


def optimizer_dict(options: dict[str, Any]) -> dict[str, Any]:
    """Options under the names of the training JSON, those of a schedule included; what is None is left out."""
    written = {camel_case(key): value for key, value in options.items() if value is not None}
    rate = written.get("learningRate")
    if isinstance(rate, Schedule):
        written["learningRate"] = rate.to_dict()
    elif isinstance(rate, dict):
        written["learningRate"] = {camel_case(key): value for key, value in rate.items()}
    return written


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum when it is given."""

    kind = "sgd"

    @suggesting
    def __init__(
        self,
        learning_rate: LearningRate | None = None,
        momentum: float | None = None,
        nesterov: bool | None = None,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(learning_rate=learning_rate, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay)


class Adam(Optimizer):
    """Running means of the gradient and its square."""

    kind = "adam"

    @suggesting
    def __init__(
        self,
        learning_rate: LearningRate | None = None,
        beta_1: float | None = None,
        beta_2: float | None = None,
        epsilon: float | None = None,
        *,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon, weight_decay=weight_decay
        )


class AdamW(Optimizer):
    """Adam with a weight decay from the start."""

    kind = "adamw"

    @suggesting
    def __init__(
        self,
        learning_rate: LearningRate | None = None,
        weight_decay: float | None = None,
        beta_1: float | None = None,
        beta_2: float | None = None,
        epsilon: float | None = None,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon, weight_decay=weight_decay
        )


class Adadelta(Optimizer):
    """Steps scaled by the ratio of past steps to past gradients."""

    kind = "adadelta"

    @suggesting
    def __init__(
        self,
        learning_rate: LearningRate | None = None,
        rho: float | None = None,
        epsilon: float | None = None,
        *,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(learning_rate=learning_rate, rho=rho, epsilon=epsilon, weight_decay=weight_decay)


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of all squared gradients."""

    kind = "adagrad"

    @suggesting
    def __init__(
        self,
        learning_rate: LearningRate | None = None,
        initial_accumulator_value: float | None = None,
        epsilon: float | None = None,
        *,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=epsilon,
            weight_decay=weight_decay,
        )


class RMSprop(Optimizer):
    """Steps divided by the root of a running mean of the squared gradient."""

    kind = "rmsprop"

    @suggesting
    def __init__(
        self,
        learning_rate: LearningRate | None = None,
        rho: float | None = None,
        momentum: float | None = None,
        epsilon: float | None = None,
        centered: bool | None = None,
        *,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            rho=rho,
            momentum=momentum,
            epsilon=epsilon,
            centered=centered,
            weight_decay=weight_decay,
        )


class Lamb(Optimizer):
    """Adam whose step in each parameter is as long as the parameter: for large batches."""

    kind = "lamb"

    @suggesting
    def __init__(
        self,
        learning_rate: LearningRate | None = None,
        beta_1: float | None = None,
        beta_2: float | None = None,
        epsilon: float | None = None,
        *,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon, weight_decay=weight_decay
        )

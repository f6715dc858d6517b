"""How a learning rate changes, with Keras's names. See docs/training-json.md for each option's meaning.

>>> optimizers.Adam(schedules.CosineDecay(0.01, decay_epochs=30))

A schedule only writes down what it was given; defaults and checks belong to the engine. Lengths are given in steps,
which are updates of the weights, or in epochs. Without a rate of its own a schedule starts at the optimizer's default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from bloomery.names import camel_case, suggesting


class Schedule:
    """One schedule: its kind and the options that were given."""

    kind: ClassVar[str]

    def __init__(self, **options: Any) -> None:
        given = {camel_case(key): value for key, value in options.items() if value is not None}
        self._json: dict[str, Any] = {"kind": self.kind, **given}

    def to_dict(self) -> dict[str, Any]:
        """The schedule as the training JSON has it."""
        return dict(self._json)

    def with_warmup(
        self, steps: int | None = None, *, epochs: float | None = None, start_rate: float | None = None
    ) -> Schedule:
        """The same after a straight line up to its first rate; its own steps count from there."""
        warmup = {"warmupSteps": steps, "warmupEpochs": epochs, "warmupStartRate": start_rate}
        warmed = type(self).__new__(type(self))
        warmed._json = self._json | {key: value for key, value in warmup.items() if value is not None}
        return warmed

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self._json.items() if key != "kind")
        return f"{type(self).__name__}({options})"


class Constant(Schedule):
    """One rate for all steps, which a number says as well; `with_warmup` makes it worth a name."""

    kind = "constant"

    @suggesting
    def __init__(self, initial_learning_rate: float | None = None) -> None:
        super().__init__(initial_learning_rate=initial_learning_rate)


class StepDecay(Schedule):
    """Multiplied by `factor` every so many epochs or steps."""

    kind = "step"

    @suggesting
    def __init__(
        self,
        initial_learning_rate: float | None = None,
        every_epochs: float | None = None,
        factor: float | None = None,
        *,
        every_steps: int | None = None,
    ) -> None:
        super().__init__(
            initial_learning_rate=initial_learning_rate,
            every_epochs=every_epochs,
            every_steps=every_steps,
            factor=factor,
        )


class ExponentialDecay(Schedule):
    """Multiplied by `decay_rate` over each `decay_steps`, evenly or, as a `staircase`, at once."""

    kind = "exponential"

    @suggesting
    def __init__(
        self,
        initial_learning_rate: float | None = None,
        decay_steps: int | None = None,
        decay_rate: float | None = None,
        staircase: bool | None = None,
        *,
        decay_epochs: float | None = None,
    ) -> None:
        super().__init__(
            initial_learning_rate=initial_learning_rate,
            decay_steps=decay_steps,
            decay_epochs=decay_epochs,
            decay_rate=decay_rate,
            staircase=staircase,
        )


class PolynomialDecay(Schedule):
    """Down to `end_learning_rate` over `decay_steps`: in a straight line, or bent by `power`."""

    kind = "polynomial"

    @suggesting
    def __init__(
        self,
        initial_learning_rate: float | None = None,
        decay_steps: int | None = None,
        end_learning_rate: float | None = None,
        power: float | None = None,
        cycle: bool | None = None,
        *,
        decay_epochs: float | None = None,
    ) -> None:
        super().__init__(
            initial_learning_rate=initial_learning_rate,
            decay_steps=decay_steps,
            decay_epochs=decay_epochs,
            end_learning_rate=end_learning_rate,
            power=power,
            cycle=cycle,
        )


class CosineDecay(Schedule):
    """Half a cosine over `decay_steps`, down to the share `alpha` of the initial rate."""

    kind = "cosine"

    @suggesting
    def __init__(
        self,
        initial_learning_rate: float | None = None,
        decay_steps: int | None = None,
        alpha: float | None = None,
        *,
        warmup_target: float | None = None,
        warmup_steps: int | None = None,
        decay_epochs: float | None = None,
    ) -> None:
        super().__init__(
            initial_learning_rate=initial_learning_rate,
            decay_steps=decay_steps,
            decay_epochs=decay_epochs,
            alpha=alpha,
            warmup_target=warmup_target,
            warmup_steps=warmup_steps,
        )


class CosineDecayRestarts(Schedule):
    """Cosines one after the other, each `t_mul` times as long and `m_mul` times as high as the one before."""

    kind = "cosine_restarts"

    @suggesting
    def __init__(
        self,
        initial_learning_rate: float | None = None,
        first_decay_steps: int | None = None,
        t_mul: float | None = None,
        m_mul: float | None = None,
        alpha: float | None = None,
        *,
        first_decay_epochs: float | None = None,
    ) -> None:
        super().__init__(
            initial_learning_rate=initial_learning_rate,
            first_decay_steps=first_decay_steps,
            first_decay_epochs=first_decay_epochs,
            t_mul=t_mul,
            m_mul=m_mul,
            alpha=alpha,
        )


class PiecewiseConstantDecay(Schedule):
    """`values[i]` up to and including `boundaries[i]`, steps from 0, or `boundary_epochs[i]`, epochs from 1."""

    kind = "piecewise"

    @suggesting
    def __init__(
        self,
        boundaries: Sequence[int] | None = None,
        values: Sequence[float] | None = None,
        *,
        boundary_epochs: Sequence[int] | None = None,
    ) -> None:
        super().__init__(boundaries=boundaries, boundary_epochs=boundary_epochs, values=values)


class OneCycle(Schedule):
    """PyTorch's OneCycleLR: up to the maximum, then down far below the start."""

    kind = "one_cycle"

    @suggesting
    def __init__(
        self,
        max_learning_rate: float | None = None,
        total_steps: int | None = None,
        *,
        total_epochs: float | None = None,
        pct_start: float | None = None,
        anneal_strategy: str | None = None,
        div_factor: float | None = None,
        final_div_factor: float | None = None,
    ) -> None:
        super().__init__(
            max_learning_rate=max_learning_rate,
            total_steps=total_steps,
            total_epochs=total_epochs,
            pct_start=pct_start,
            anneal_strategy=anneal_strategy,
            div_factor=div_factor,
            final_div_factor=final_div_factor,
        )


class ReduceOnPlateau(Schedule):
    """Multiplied by `factor` when the loss has not fallen for `patience` epochs."""

    kind = "reduce_on_plateau"

    @suggesting
    def __init__(
        self,
        initial_learning_rate: float | None = None,
        monitor: str | None = None,
        factor: float | None = None,
        patience: int | None = None,
        *,
        min_delta: float | None = None,
        cooldown: int | None = None,
        min_learning_rate: float | None = None,
    ) -> None:
        super().__init__(
            initial_learning_rate=initial_learning_rate,
            monitor=monitor,
            factor=factor,
            patience=patience,
            min_delta=min_delta,
            cooldown=cooldown,
            min_learning_rate=min_learning_rate,
        )

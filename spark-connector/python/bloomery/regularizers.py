"""What is added to the loss for the size of a layer's weights: `Dense(10, kernel_regularizer=L2(1e-4))`."""

from __future__ import annotations


class Regularizer:
    """`l1` times the sum of the weights' sizes plus `l2` times the sum of their squares, as Keras counts it."""

    def __init__(self, **factors: float) -> None:
        self._json = factors

    def to_dict(self) -> dict[str, float]:
        """The regularizer as the network JSON has it."""
        return dict(self._json)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(str(factor) for factor in self._json.values())})"


class L1(Regularizer):
    """`l1` times the sum of the weights' sizes."""

    def __init__(self, l1: float) -> None:
        super().__init__(l1=l1)


class L2(Regularizer):
    """`l2` times the sum of the weights' squares."""

    def __init__(self, l2: float) -> None:
        super().__init__(l2=l2)


class L1L2(Regularizer):
    """Both."""

    def __init__(self, l1: float, l2: float) -> None:
        super().__init__(l1=l1, l2=l2)

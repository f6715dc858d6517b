"""Optimizers and schedules write down what they are given, under the names of the training JSON."""

import json

import numpy
import pytest

from bloomery import optimizers as O
from bloomery import schedules as S
from bloomery.params import optimizer_text


@pytest.mark.parametrize(
    ("optimizer", "written"),
    [
        (O.SGD(), {"kind": "sgd"}),
        (
            O.SGD(0.1, 0.9, nesterov=True, weight_decay=0.5),
            {"kind": "sgd", "learningRate": 0.1, "momentum": 0.9, "nesterov": True, "weightDecay": 0.5},
        ),
        (
            O.Adam(0.1, beta_1=0.8, beta_2=0.9, epsilon=1e-3),
            {"kind": "adam", "learningRate": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3},
        ),
        (O.AdamW(0.1, 0.01), {"kind": "adamw", "learningRate": 0.1, "weightDecay": 0.01}),
        (O.Adadelta(rho=0.9), {"kind": "adadelta", "rho": 0.9}),
        (O.Adagrad(initial_accumulator_value=0.5), {"kind": "adagrad", "initialAccumulatorValue": 0.5}),
        (
            O.RMSprop(rho=0.5, momentum=0.5, centered=True),
            {"kind": "rmsprop", "rho": 0.5, "momentum": 0.5, "centered": True},
        ),
        (O.Lamb(weight_decay=0.1), {"kind": "lamb", "weightDecay": 0.1}),
    ],
)
def test_optimizer_options(optimizer, written):
    assert optimizer.to_dict() == written
    assert json.loads(optimizer_text(optimizer)) == written


@pytest.mark.parametrize(
    ("schedule", "written"),
    [
        (S.Constant(0.5), {"kind": "constant", "initialLearningRate": 0.5}),
        (
            S.Constant(0.5).with_warmup(10, start_rate=0.1),
            {"kind": "constant", "initialLearningRate": 0.5, "warmupSteps": 10, "warmupStartRate": 0.1},
        ),
        (S.StepDecay(0.5, 30), {"kind": "step", "initialLearningRate": 0.5, "everyEpochs": 30}),
        (S.StepDecay(every_steps=30, factor=0.5), {"kind": "step", "everySteps": 30, "factor": 0.5}),
        (
            S.ExponentialDecay(0.5, 100, 0.9, staircase=True),
            {
                "kind": "exponential",
                "initialLearningRate": 0.5,
                "decaySteps": 100,
                "decayRate": 0.9,
                "staircase": True,
            },
        ),
        (
            S.PolynomialDecay(decay_epochs=3, end_learning_rate=0.1, power=2.0, cycle=True),
            {"kind": "polynomial", "decayEpochs": 3, "endLearningRate": 0.1, "power": 2.0, "cycle": True},
        ),
        (
            S.CosineDecay(0.5, decay_epochs=30, alpha=0.1).with_warmup(epochs=2),
            {"kind": "cosine", "initialLearningRate": 0.5, "decayEpochs": 30, "alpha": 0.1, "warmupEpochs": 2},
        ),
        (
            S.CosineDecay(0.5, 100, warmup_target=1.0, warmup_steps=5),
            {"kind": "cosine", "initialLearningRate": 0.5, "decaySteps": 100, "warmupTarget": 1.0, "warmupSteps": 5},
        ),
        (
            S.CosineDecayRestarts(0.5, 100, t_mul=1.5, m_mul=0.5),
            {"kind": "cosine_restarts", "initialLearningRate": 0.5, "firstDecaySteps": 100, "tMul": 1.5, "mMul": 0.5},
        ),
        (
            S.PiecewiseConstantDecay([10], [1.0, 0.5]),
            {"kind": "piecewise", "boundaries": [10], "values": [1.0, 0.5]},
        ),
        (
            S.PiecewiseConstantDecay(boundary_epochs=[10], values=[1.0, 0.5]),
            {"kind": "piecewise", "boundaryEpochs": [10], "values": [1.0, 0.5]},
        ),
        (
            S.OneCycle(0.5, total_epochs=3, pct_start=0.2, anneal_strategy="linear", div_factor=5, final_div_factor=7),
            {
                "kind": "one_cycle",
                "maxLearningRate": 0.5,
                "totalEpochs": 3,
                "pctStart": 0.2,
                "annealStrategy": "linear",
                "divFactor": 5,
                "finalDivFactor": 7,
            },
        ),
        (
            S.ReduceOnPlateau(0.5, "loss", 0.5, 3, min_delta=0.1, cooldown=2, min_learning_rate=0.01),
            {
                "kind": "reduce_on_plateau",
                "initialLearningRate": 0.5,
                "monitor": "loss",
                "factor": 0.5,
                "patience": 3,
                "minDelta": 0.1,
                "cooldown": 2,
                "minLearningRate": 0.01,
            },
        ),
    ],
)
def test_schedule_options(schedule, written):
    assert schedule.to_dict() == written
    assert O.SGD(schedule).to_dict() == {"kind": "sgd", "learningRate": written}


def test_warmup_leaves_the_schedule_as_it_was():
    plain = S.Constant(0.5)
    plain.with_warmup(10)
    assert plain.to_dict() == {"kind": "constant", "initialLearningRate": 0.5}


def test_dicts_work_in_both_places():
    text = optimizer_text({"kind": "adam", "beta_1": 0.8, "learning_rate": {"kind": "cosine", "decay_steps": 9}})
    assert json.loads(text) == {"kind": "adam", "beta1": 0.8, "learningRate": {"kind": "cosine", "decaySteps": 9}}
    text = optimizer_text({"kind": "adam", "learning_rate": S.Constant(0.5)})
    assert json.loads(text) == {"kind": "adam", "learningRate": {"kind": "constant", "initialLearningRate": 0.5}}


def test_numbers_of_numpy_are_numbers():
    schedule = S.PiecewiseConstantDecay(numpy.array([10]), [numpy.float32(0.5), numpy.float64(0.25)])
    optimizer = O.Adam(schedule, beta_1=numpy.float32(0.5))
    written = {"kind": "piecewise", "boundaries": [10], "values": [0.5, 0.25]}
    assert json.loads(optimizer_text(optimizer)) == {"kind": "adam", "learningRate": written, "beta1": 0.5}
    assert json.loads(optimizer_text({"kind": "sgd", "momentum": numpy.float32(0.5)}))["momentum"] == 0.5


def test_unknown_option_suggests_the_nearest():
    with pytest.raises(TypeError, match=r"^Unknown keyword of Adam: beta1, nearest known: beta_1$"):
        O.Adam(beta1=0.9)
    with pytest.raises(TypeError, match="nearest known: decay_steps"):
        S.CosineDecay(decay_step=3)


def test_repr_shows_what_was_given():
    assert repr(O.Adam(S.Constant(0.5))) == "Adam(learningRate={'kind': 'constant', 'initialLearningRate': 0.5})"
    assert repr(S.StepDecay(0.5, 30)) == "StepDecay(initialLearningRate=0.5, everyEpochs=30)"

"""The layers of a network, with Keras's names and options. See docs/network-json.md for each option's meaning.

A layer only writes down what it was given. Defaults, shapes and every check belong to the engine, so a wrong value
is found by `summary()` of the network or by `NeuralNetClassifier.fit()`. In a `Sequential` layers stand in a row; for
a `Model` they are called: `h = Dense(8, "relu")(x)`.
"""

from bloomery.layers.activation import ELU, Activation, LeakyReLU, ReLU, Softmax
from bloomery.layers.convolution import Conv1D, Conv2D, DepthwiseConv2D
from bloomery.layers.core import Dense, Dropout, Embedding, Input, Rescaling
from bloomery.layers.layer import Layer, Tensor
from bloomery.layers.merging import Add, Concatenate, Multiply
from bloomery.layers.normalization import BatchNormalization, LayerNormalization, Normalization
from bloomery.layers.pooling import (
    AveragePool1D,
    AveragePool2D,
    GlobalAveragePool1D,
    GlobalAveragePool2D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    MaxPool1D,
    MaxPool2D,
)
from bloomery.layers.recurrent import GRU, LSTM, Bidirectional
from bloomery.layers.reshaping import Flatten, Reshape, ZeroPadding2D

__all__ = [
    "ELU",
    "GRU",
    "LSTM",
    "Activation",
    "Add",
    "AveragePool1D",
    "AveragePool2D",
    "BatchNormalization",
    "Bidirectional",
    "Concatenate",
    "Conv1D",
    "Conv2D",
    "Dense",
    "DepthwiseConv2D",
    "Dropout",
    "Embedding",
    "Flatten",
    "GlobalAveragePool1D",
    "GlobalAveragePool2D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "Input",
    "Layer",
    "LayerNormalization",
    "LeakyReLU",
    "MaxPool1D",
    "MaxPool2D",
    "Multiply",
    "Normalization",
    "ReLU",
    "Rescaling",
    "Reshape",
    "Softmax",
    "Tensor",
    "ZeroPadding2D",
]

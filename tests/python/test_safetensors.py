"""Our reader and the `safetensors` package agree on every type we write."""

import numpy
import pytest
from safetensors.numpy import save

from bloomery.safetensors import tensors_of


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "int16", "int8", "uint8"])
def test_reads_what_the_package_writes(dtype):
    written = {"a/kernel": numpy.arange(6).astype(dtype).reshape(2, 3), "a/bias": numpy.zeros((0,), dtype)}
    read = tensors_of(save(written, metadata={"format": "x"}))
    assert read.keys() == written.keys()
    for name, tensor in written.items():
        numpy.testing.assert_array_equal(read[name], tensor)
        assert read[name].dtype == tensor.dtype

"""Reads and writes the safetensors format: eight bytes of header length, a JSON header, then the tensors' bytes."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy

_DTYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}


def tensors_of(data: bytes) -> dict[str, numpy.ndarray[Any, Any]]:
    """The tensors by name, as arrays that share no memory with `data`."""
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    return {name: _tensor(data, 8 + length, entry) for name, entry in header.items()}


def _tensor(data: bytes, base: int, entry: dict[str, Any]) -> numpy.ndarray[Any, Any]:
    begin, end = entry["data_offsets"]
    values = numpy.frombuffer(data[base + begin : base + end], dtype=_DTYPES[entry["dtype"]])
    return values.reshape(entry["shape"]).copy()


def bytes_of(tensors: dict[str, numpy.ndarray[Any, Any]]) -> bytes:
    """The file of these tensors, as float32."""
    header: dict[str, Any] = {}
    parts: list[bytes] = []
    end = 0
    for name, tensor in tensors.items():
        parts.append(numpy.ascontiguousarray(tensor, "<f4").tobytes())
        begin, end = end, end + len(parts[-1])
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of eight
    return struct.pack("<Q", len(text)) + text + b"".join(parts)

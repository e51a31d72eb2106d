"""Which ops read each tensor, told in a few bytes each."""

from __future__ import annotations

import random

import pytest

from autograd_inspector.model.op import Op
from autograd_inspector.model.readers import Readers


@pytest.mark.parametrize("seed", range(20))
def test_readers_in_program_order(seed):
    """Each op that read a tensor is there once, in order, whether one read it or many."""
    drawn = random.Random(seed)
    tensors = drawn.randrange(1, 30)
    ops = [
        Op(index, "add", tuple(drawn.choices(range(tensors + 2), k=drawn.randrange(4))), (), (), 0)
        for index in range(drawn.randrange(40))
    ]
    readers, expected = Readers(ops, tensors), {}
    for op in ops:
        for tensor in dict.fromkeys(op.inputs):
            expected.setdefault(tensor, []).append(op.index)
    assert {tensor: [*readers[tensor]] for tensor in readers} == expected
    assert all([*readers.get(tensor)] == expected.get(tensor, []) for tensor in range(tensors + 3))
    assert [tensor in readers for tensor in range(tensors)] == [tensor in expected for tensor in range(tensors)]
    assert readers.get(-1, (7,)) == (7,)
    with pytest.raises(KeyError):
        readers[-1]

"""Steps, thresholds and draws, which have no gradient or a zero one."""

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import PARTIAL, Kind

from .flowing import replacing


def _drawn(anatomy: Anatomy) -> Iterator[Planted]:
    for call in anatomy.calls("rsample"):
        assert isinstance(call.func, ast.Attribute)
        yield anatomy.replaced(call.func, f"{anatomy.source(call.func.value)}.sample")


KINDS = (
    replacing("round", "({}).round()"),
    replacing("sign", "torch.sign({})"),
    replacing("threshold", "(({}) > 0.5).float()"),
    replacing("cast", "({}).long().float()"),
    replacing("one hot", "torch.nn.functional.one_hot(({}).argmax(-1), ({}).shape[-1]).float()", dims=2),
    replacing("bernoulli", "torch.bernoulli(torch.sigmoid({}))"),
    Kind("sample", _drawn, minor=PARTIAL),
)

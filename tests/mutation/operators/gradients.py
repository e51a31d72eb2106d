"""`.grad` is written to between backward and step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import ANY, Kind


def _between(name: str, *lines: str, minor: frozenset[str] = frozenset()) -> Kind:
    """Before a step, for the parameters of its optimizer."""

    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        for call in anatomy.calls("step", "optimizer"):
            statement = anatomy.alone(call)
            if statement is not None and not call.args:
                assert isinstance(call.func, ast.Attribute)
                held = f"{anatomy.source(call.func.value)}.param_groups[0]['params']"
                yield anatomy.before(statement, *(line.replace("{}", held) for line in lines))

    return Kind(name, plant, minor=minor)


def _shared(anatomy: Anatomy) -> Iterator[Planted]:
    """All gradients of one shape are one tensor, which backward adds to."""
    for call in anatomy.calls("step", "optimizer"):
        assert isinstance(call.func, ast.Attribute)
        statement = anatomy.alone(call)
        body = anatomy.body(statement) if statement is not None else []
        backwards = [each for one in anatomy.calls("backward") if (each := anatomy.alone(one)) in body]
        for backward in [each for each in backwards if each.lineno < statement.lineno][-1:]:
            yield anatomy.before(
                backward,
                "buffers = {}",
                f"for each in {anatomy.source(call.func.value)}.param_groups[0]['params']:",
                "    each.grad = buffers.setdefault(each.shape, torch.zeros_like(each))",
            )


KINDS = (
    _between("gradient dropped", "for each in {}[:1]:", "    each.grad = None", minor=ANY),
    _between("gradient zeroed", "for each in {}[:1]:", "    each.grad.zero_()", minor=ANY),
    _between("gradient replaced by zeros", "for each in {}[:1]:", "    each.grad = torch.zeros_like(each)"),
    _between(
        "gradient of another", "{}[0].grad = next(each.grad for each in reversed({}) if each.shape == {}[0].shape)"
    ),
    Kind("gradients shared", _shared),
)

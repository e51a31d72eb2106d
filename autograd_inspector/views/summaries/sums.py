"""The bytes of a placement in a few lines."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.placement import Placement
from autograd_inspector.model.totals import Total
from autograd_inspector.views.display_text import shown, size

_MODULES = 6
_NAME = 80


def sums_of(placement: Placement) -> tuple[str, ...]:
    """Bytes by kind; by device, dtype and group where there are several; the largest modules."""
    if not placement.rows:
        return ()
    totals = placement.totals
    lines = [_kinds(totals.whole)]
    for what, parts in (("device", totals.by_device), ("dtype", totals.by_dtype), ("group", totals.by_group)):
        if len(parts) > 1:
            lines.append(f"by {what}: {', '.join(_largest(parts))}")
    top = totals.by_child
    if len(top) > 1:
        lines.append(f"by module: {', '.join(_largest(top))}")
    return tuple(lines)


def _kinds(total: Total) -> str:
    parts = (("parameters", total.parameters), ("gradients", total.gradients), ("optimizer state", total.state))
    amounts = ", ".join(f"{size(nbytes)} of {what}" for what, nbytes in parts if nbytes)
    return f"{size(total.all)} in all: {amounts}" if amounts else "nothing is allocated"


def _largest(parts: dict[str, Total]) -> Iterator[str]:
    ranked = sorted(parts.items(), key=lambda pair: -pair[1].all)
    yield from (f"{shown(name, _NAME)} {size(total.all)}" for name, total in ranked[:_MODULES])
    rest = ranked[_MODULES:]
    if rest:
        yield f"{len(rest)} more {size(sum(total.all for _, total in rest))}"

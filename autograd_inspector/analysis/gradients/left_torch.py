"""Which ops took a value out of torch, and what had cut it off before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op


def detached_before(analysis: Analysis, *ops: Op) -> list[Op]:
    """Where what left autograd had been cut off by a line before: both go, or the one would only bring the other up."""
    found: list[Op] = []
    todo = [tensor for op in ops for tensor in op.inputs]
    for tensor in todo:  # It grows on the way.
        made = analysis.flow.birth(tensor)
        if made is None or made in (*ops, *found):
            continue
        if is_a(made.name, OpKind.DETACHES) and any(analysis.capture.tensors[t].requires_grad for t in made.inputs):
            found.append(made)
        elif is_a(made.name, OpKind.VIEWS):
            todo += made.inputs[:1]
    return found


def cuts_by_line(analysis: Analysis, cuts: Iterable[GradientCut]) -> Iterator[GradientCut]:
    """Of one line that takes several values out, and brings them back perhaps, one record."""
    cut_of_line: dict[tuple[str, int, int], GradientCut] = {}
    for cut in cuts:
        key = (*line_or_site(analysis, cut.ops[0]), cut.added)
        one = cut_of_line.setdefault(key, cut)
        if one is not cut:
            parameters = tuple(dict.fromkeys((*one.parameters, *cut.parameters)))
            ops, fatal = (*one.ops, *cut.ops), one.fatal or cut.fatal
            cut_of_line[key] = replace(one, ops=ops, parameters=parameters, fatal=fatal)
    yield from cut_of_line.values()


def way_out(analysis: Analysis, op: Op) -> Op:
    """Of ``x.detach().numpy()`` the second part."""
    if not is_a(op.name, OpKind.DETACHES):
        return op
    later = analysis.capture.ops[op.index + 1 :]
    return next((o for o in later if is_a(o.name, OpKind.EXTRACTS) and set(o.inputs) & set(op.outputs)), op)


def taken_out(analysis: Analysis, op: Op) -> list[Op]:
    """The op that took the value out of torch before this one brought it back."""
    out = [
        o for o in analysis.capture.ops[: op.index] if is_a(o.name, OpKind.EXTRACTS) and set(o.inputs) & set(op.inputs)
    ]
    return out[-1:]


def line_or_site(analysis: Analysis, op: Op) -> tuple[str, int]:
    """What tells a line from others: its file and number, or the site where these are not known."""
    return line_of(analysis, op.site) or ("", op.site)

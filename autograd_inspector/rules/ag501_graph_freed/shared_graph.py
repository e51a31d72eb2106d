"""AG501 where two losses share a part of their graph, or one loss goes backward twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile

from autograd_inspector.advice.naming import name_of, where_made
from autograd_inspector.advice.remedies.graphs import retained
from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.advice.remedies.left_out import left_out
from autograd_inspector.advice.spelling import assignable
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.left_after_a_cut import left_after_a_cut
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, with_role
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.wording import join_names


def two_losses(analysis: Analysis, run: Backward, earlier: Sequence[Backward]) -> Problem:
    """Two losses over one graph, or one loss twice."""
    roots = _losses(analysis, run)
    above = {op.index for op, _ in analysis.flow.upstream((t, run.start) for t in run.roots)}
    for other in reversed(earlier):
        if set(other.roots) & set(run.roots):
            text = f"backward() was called twice on {roots}: the first call freed its graph"
            cures = _called_once(analysis, run, other)
            return _twice(analysis, run, other, text, (), fix=_fix_of_one_loss(analysis, run, other), cures=cures)
        met = [op for op, _ in analysis.flow.upstream((t, other.start) for t in other.roots) if op.index in above]
        common = [op for op in met if op.recorded and op.outputs]
        if common and not other.retain_graph:
            return _part(analysis, run, other, max(common, key=lambda op: op.index))
    return _twice(
        analysis,
        run,
        earlier[-1],
        f"an earlier backward() freed the graph of {roots}",
        (),
        fix=_fix(analysis, run, earlier[-1], ()),
    )


def part_of_one_round(
    analysis: Analysis, run: Backward, earlier: Sequence[Backward], made: Op | None
) -> Problem | None:
    """Two losses of one round, whose later one is computed only after the first backward from what was made before.

    What the later loss starts from (a second head's output) then is no part of the freed graph, but lies on top of it.
    """
    if made is None:
        return None
    since = [*takewhile(lambda other: other.end > made.index, reversed(earlier))]
    for other in reversed(since):
        if other.retain_graph or stepped_between(analysis, other, run):
            continue
        through = {node.op for node in analysis.nodes_of(other)}
        common = through & {node.op for node in analysis.nodes_of(run)} - {-1}
        if common and made.index not in through:
            return _part(analysis, run, other, analysis.capture.ops[max(common)])
    return None


def _part(analysis: Analysis, run: Backward, other: Backward, last: Op) -> Problem:
    name = name_of(analysis, last.outputs[0]) if last.outputs else where_made(analysis, last)
    layer = analysis.capture.calls[last.call].path if last.call >= 0 else ""
    of = f"{name}, which '{layer}' computed" if layer and f"'{layer}'" not in name else name
    first, second = _losses(analysis, other), _losses(analysis, run)
    both = f"{first} and {second}" if first != second else "two losses"
    text = f"{both} share the graph of {of}, and the first backward() freed it"
    names = (name_of(analysis, last.outputs[0]), *([layer] if layer else [])) if last.outputs else ()
    where = analysis.user_frames(last.site, "shared graph ends here")
    fix, cures = (
        _fix(analysis, run, other, last.outputs),
        (*_written_apart(analysis, run, other), *_kept_for(analysis, run, other)),
    )
    return _twice(analysis, run, other, text, names, where, fix=fix, cures=cures)


def _written_apart(analysis: Analysis, run: Backward, other: Backward) -> Iterator[Remedies]:
    """Where an edit in place gave data the graph of the first loss, which the second one meets: the edit goes to a copy."""
    tensors = analysis.capture.tensors
    above = {op.index for op, _ in analysis.flow.upstream((t, run.start) for t in run.roots)}
    for op, _ in analysis.flow.upstream((t, other.start) for t in other.roots):
        data = [w for w in op.writes if w.before <= 0 or not _has_graph(analysis, w.tensor, op.index)]
        given = any(tensors[t].requires_grad for t in op.inputs[1:])
        if op.index in above and data and given and not op.has(Trait.STEP | Trait.BACKWARD):
            place = analysis.capture.place(op.site)
            if place is not None:
                yield (out_of_place(analysis, op, place),)


def _has_graph(analysis: Analysis, tensor: int, before: int) -> bool:
    made = analysis.flow.birth(tensor)
    return made is not None and made.index < before and made.recorded


def _losses(analysis: Analysis, run: Backward) -> str:
    return join_names((name_of(analysis, t) for t in run.roots), 2)


def _twice(
    analysis: Analysis,
    run: Backward,
    first: Backward,
    text: str,
    names: tuple[str, ...],
    where: tuple[Location, ...] = (),
    *,
    fix: str,
    cures: Iterable[Remedies] = (),
) -> Problem:
    return Problem(
        "error",
        text,
        fix,
        (*backwards(analysis, first, run, second_first=True), *where),
        (*names, *(name_of(analysis, t) for t in run.roots)),
        cures=tuple(cures),
    )


def _called_once(analysis: Analysis, run: Backward, first: Backward) -> Iterator[Remedies]:
    """One of two calls on the same loss is left out; what asks for a gradient keeps the graph for the other."""
    if first.api == "grad":
        yield from retained(analysis, first)
    elif first.site != run.site and not stepped_between(analysis, first, run):
        yield from left_out(analysis, run.site)


def _kept_for(analysis: Analysis, run: Backward, first: Backward) -> Iterator[Remedies]:
    """The graph that two losses share is kept by the first call, where no step comes between."""
    if not stepped_between(analysis, first, run):
        yield from retained(analysis, first)


_ASKED = "Pass retain_graph=True to the first call: it computes a gradient, and the second call needs the graph again."


def _fix_of_one_loss(analysis: Analysis, run: Backward, first: Backward) -> str:
    """A graph that is kept would give the same gradient once more."""
    if first.api == "grad":
        return _ASKED
    again = f"Compute {_losses(analysis, run)} again before each backward()"
    if first.site == run.site or stepped_between(analysis, first, run):
        return f"{again}."
    return f"{again}, or remove one of the two calls."


def _fix(analysis: Analysis, run: Backward, first: Backward, shared: Collection[int]) -> str:
    if first.api == "grad":
        return _ASKED
    roots = [*first.roots, *run.roots]
    named = (
        all(assignable(name_of(analysis, t), analysis, t) for t in roots)
        and len({name_of(analysis, t) for t in roots}) == 2
    )
    total = f": `({' + '.join(name_of(analysis, t) for t in roots)}).backward()`" if named and len(roots) == 2 else ""
    again = first.site == run.site
    summed = f"Sum the losses and call backward() once{total}"
    kept = f"pass retain_graph=True to {'each call but the last' if again else 'the first call'}"
    if not left_after_a_cut(analysis.capture, analysis.flow, first, shared):
        return f"{summed}, or {kept}."
    return f"{summed}, {kept}, or detach() the tensors that the first loss does not need to train."


def stepped_between(analysis: Analysis, first: Backward, second: Backward) -> bool:
    """Whether an optimizer stepped between two backwards: then the first may not keep its graph for the second."""
    return bool(analysis.timeline.steps.places(first.end, second.start))


def backwards(analysis: Analysis, first: Backward, second: Backward, *, second_first: bool = False) -> list[Location]:
    """The two backwards; a loop that runs one line twice shows it once, with both roles."""
    one, two = (
        analysis.user_frames(first.site, "graph freed here"),
        analysis.user_frames(second.site, "second backward here"),
    )
    if one and two and one[0].line == two[0].line:
        return [with_role(one[0], "graph freed here and used again"), *one[1:], *two[1:]]
    return [*two, *one] if second_first else [*one, *two]

"""Graphs of earlier rounds: cut off, computed again, or kept for the backward that needs them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import ParameterRegistered, TensorHeld
from autograd_inspector.model.remedy import Again, Insert, Remedies, SetArgument, Substitute
from autograd_inspector.model.rewrites import AsProperty, CutAtEntry, CutCarried, KeepLast, Unguard
from autograd_inspector.source.fragments import is_path as is_path_node
from autograd_inspector.source.fragments import statement


def computed_again(analysis: Analysis, made: Op | None, reader: Op) -> Iterator[Remedies]:
    """What was kept is made in each round, where it is read; of an attribute, whenever it is read."""
    if made is None:
        return
    pair = meeting(analysis, made.site, reader.site)
    own = analysis.capture.place(made.site)
    for place in analysis.user_frames(made.site, ""):
        if not _makes_it_whole(analysis, made, place):
            continue
        yield (Unguard(place),)
        yield (AsProperty(place),)
        if pair is not None and place.line == pair[0].line and (pair[0] == own or place.assigned or place.target):
            yield (Again(*pair),)


def _makes_it_whole(analysis: Analysis, made: Op, place: Location) -> bool:
    """Whether running the statement at a place again gives the value a new graph, and does nothing else.

    A backward, a step or new parameters are no value. A part of the graph that was there before stays an old one.
    """
    capture = analysis.capture
    doing = [
        *(run.site for run in capture.backwards),
        *(step.site for step in capture.steps),
        *(event.site for event in capture.events_of(ParameterRegistered)),
    ]
    if any(_within(analysis, site, place) for site in doing):
        return False
    inside = {made.index}
    for op, _ in analysis.flow.upstream([(t, made.index + 1) for t in made.outputs]):
        if op.index not in inside and not _within(analysis, op.site, place):
            continue
        inside.add(op.index)
        for read in op.inputs:
            above = analysis.flow.birth(read)
            record = capture.tensors[read]
            if (
                above is not None
                and record.requires_grad
                and not record.leaf
                and not _within(analysis, above.site, place)
            ):
                return False
    return True


def _within(analysis: Analysis, site: int, place: Location) -> bool:
    return any(frame.line == place.line for frame in analysis.capture.site(site))


def cut_off(analysis: Analysis, name: str, reader: Op, made: Op | None, freed_by: Backward) -> Iterator[Remedies]:
    """What is carried into the next round loses its history at the end of the round, or else where it is read."""
    several = made is not None and sum(t in reader.inputs for t in made.outputs) > 1
    place, end = analysis.capture.place(reader.site), analysis.capture.place(freed_by.site)
    if not is_path(name) or place is None:
        return
    detached = "tuple(t.detach() for t in {})" if several else "{}.detach()"
    if end is not None and place.scope == end.scope:
        yield (CutCarried(end, name, detached),)
    elif end is not None and made is not None and _is_variable_of(analysis, name, made, end):
        yield (CutCarried(end, name, detached, read_later=True),)
    if "." in name and _runs_once(analysis, reader, freed_by):
        yield (CutAtEntry(place, name, detached),)
    otherwise = 'hasattr({}, "detach") else {}' if _begins_as_number(analysis, reader) else "{} is not None else None"
    yield (Substitute(place, name, f"{detached} if {otherwise}"),)


def _is_variable_of(analysis: Analysis, name: str, made: Op, end: Location) -> bool:
    """Whether the function that calls backward() has the value under that name, and hands it on by another one."""
    frames = (frame for frame in analysis.capture.site(made.site) if frame.scope == end.scope)
    return any(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", frame.target) is not None for frame in frames)


def _runs_once(analysis: Analysis, reader: Op, freed_by: Backward) -> bool:
    """Whether the line of an op runs once in a round: cut off there, nothing of the round's own is lost."""
    ops = analysis.capture.ops[freed_by.end : reader.index]
    return all(op.site != reader.site or op.name != reader.name for op in ops)


def _begins_as_number(analysis: Analysis, reader: Op) -> bool:
    """Whether what an op reads is a sum that begins as `0.0`: it is no tensor yet in the first round."""
    begun = analysis.capture.ops[: reader.index]
    return any(op.site == reader.site and len(op.inputs) < len(reader.inputs) for op in begun)


def stored_without_graph(analysis: Analysis, site: int) -> Iterator[Remedies]:
    """What a line stores has no history."""
    place = analysis.capture.place(site)
    if place is not None:
        yield (Substitute(place, "", "{}.detach()"),)


def _stored_without_graph(analysis: Analysis, held: TensorHeld) -> Iterator[Remedies]:
    """The same, where a line may store several tensors as one tuple: a state of two parts."""
    place = analysis.capture.place(held.site)
    stored = statement(place.source) if place is not None else None
    whole = isinstance(stored, ast.Assign) and all(map(is_path_node, (*stored.targets, stored.value)))
    if place is not None and whole and re.search(rf"(?<!\w){re.escape(held.name)}\[\d+\]$", held.path) is not None:
        yield (Substitute(place, "", "tuple(t.detach() for t in {})"),)
        return
    yield from stored_without_graph(analysis, held.site)


def kept_without_graph(analysis: Analysis, held: TensorHeld, made: Op | None, freed_by: Backward) -> Iterator[Remedies]:
    """What a line stores has no history; of several results that it unpacks, the one has none from the next round on."""
    place, end = analysis.capture.place(held.site), analysis.capture.place(freed_by.site)
    unpacked = _unpacked(place.source, held.name) if place is not None else ""
    if place is None or end is None or not unpacked:
        if not _needed_in_its_round(analysis, place, made, freed_by):
            yield from _stored_without_graph(analysis, held)
        elif place is not None and made is not None:
            yield from _old_value_detached(analysis, place, made)
    elif made is not None and any(
        f.line == place.line and f.scope == end.scope for f in analysis.capture.site(made.site)
    ):
        yield (Insert(end, f"{unpacked} = {unpacked}.detach()", "behind"),)


def _needed_in_its_round(analysis: Analysis, place: Location | None, made: Op | None, freed_by: Backward) -> bool:
    """Whether the loss of the same round reads what is stored, which has no other name (``self.kl = self.kl + term``)."""
    stored = statement(place.source) if place is not None else None
    if made is None or not isinstance(stored, (ast.Assign, ast.AugAssign)) or is_path_node(stored.value):
        return False
    readers = [at for tensor in made.outputs for at in analysis.capture.readers.get(tensor, ())]
    through = {node.op for node in analysis.nodes_of(freed_by)}
    return any(made.index < at < freed_by.start and at in through for at in readers)


def _old_value_detached(analysis: Analysis, place: Location, made: Op) -> Iterator[Remedies]:
    """What a line adds to loses its history, and what it adds keeps it: ``self.mean = 0.9 * self.mean + new``."""
    stored = statement(place.source)
    target = ast.unparse(stored.targets[0]) if isinstance(stored, ast.Assign) and len(stored.targets) == 1 else ""
    readers = (analysis.capture.ops[at] for tensor in made.outputs for at in analysis.capture.readers.get(tensor, ()))
    again = next((op for op in readers if _within(analysis, op.site, place)), None)
    if target and again is not None:
        guarded = ' if hasattr({}, "detach") else {}' if _begins_as_number(analysis, again) else ""
        yield (Substitute(place, target, "{}.detach()" + guarded),)


def _unpacked(source: str, attribute: str) -> str:
    """``self.hidden`` of ``y, self.hidden = self.cell(x, self.hidden)``; "" where the value is not a tuple by itself."""
    stored = statement(source)
    if not isinstance(stored, ast.Assign) or isinstance(stored.value, ast.Tuple):
        return ""
    targets = (part for target in stored.targets if isinstance(target, ast.Tuple) for part in target.elts)
    return next((ast.unparse(part) for part in targets if getattr(part, "attr", "") == attribute), "")


_ADDS = re.compile(r"\.(append|appendleft|insert|extend)\(")
_ITEM = re.compile(r"([\w.]+)\[-?\d+\]")


def contents_detached(analysis: Analysis, held: TensorHeld, run: Backward) -> Iterator[Remedies]:
    """What a sequence keeps has no history once a backward has gone through it; each round still reads its own."""
    item, pair = _ITEM.fullmatch(held.path), meeting(analysis, held.site, run.site)
    if item is None or pair is None or not _ADDS.search(pair[0].source):
        return
    kept = item[1]
    yield (Insert(pair[1], f"for index, kept in enumerate({kept}):\n    {kept}[index] = kept.detach()", "behind"),)


def kept_last(analysis: Analysis, held: TensorHeld, made: Op | None) -> Iterator[Remedies]:
    """A sequence keeps what was added last, where each module adds to its own once in a round."""
    place, capture = analysis.capture.place(held.site), analysis.capture
    if place is None or made is None or not held.owner:
        return
    ends = [run.end for run in capture.completed_runs]
    since = max((end for end in ends if end <= made.index), default=0)
    until = min((end for end in ends if end > made.index), default=len(capture.ops))
    around = [
        call.path if call is not None else ""
        for op in capture.ops[since:until]
        if op.site == made.site and op.name == made.name
        for call in [capture.call_of(op)]
    ]
    if all(around) and len(set(around)) == len(around):
        yield (KeepLast(place),)


def retained(analysis: Analysis, run: Backward) -> Iterator[Remedies]:
    """The graph is kept for a later backward."""
    place = analysis.capture.place(run.site)
    if place is not None:
        yield (SetArgument(place, run.api, "retain_graph", "True"),)


def added_without_graph(analysis: Analysis, site: int, added: Iterable[str], *, number: bool) -> Iterator[Remedies]:
    """Values without their history are added up, or kept; ``number``: of what has no name, its number.

    A name may be that of a caller, which hands the value on.
    """
    names = list(dict.fromkeys(added))
    frames = analysis.user_frames(site, "")
    if names:
        yield from (tuple(Substitute(frame, name, "{}.detach()") for name in names) for frame in frames)
    yield from ((Substitute(frame, "", "float({})" if number else "{}.detach()"),) for frame in frames[:1])

"""Gradients that the program keeps by reference, and that a later backward writes to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.kept_by_reference import Overwritten, met_themselves
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.operands_told_apart import told_apart
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead, Lines
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD | Trait.EXPORT
"""Ops that ask whether two are the same: a program may well make sure of it."""


def overwritten_references(analysis: Analysis) -> Iterable[list[Overwritten]]:
    """Those that one line keeps, and that are used as if they were still the gradients of then."""
    cases_by_site: dict[int, list[Overwritten]] = {}
    every = _by_gradient(analysis)
    changes = {reads[0].tensor: _changes(analysis, reads[0]) for reads in every.values()}
    met = {case.read.gradient: case for case in met_themselves(analysis, every, changes)}
    kept = {k.site for k in analysis.capture.gradients_kept}
    for gradient, reads in every.items():
        case = met.get(gradient)
        if case is None and any(read.site in kept for read in reads):
            case = _collected(analysis, reads) or _against_itself(analysis, reads)
        if case is not None:
            cases_by_site.setdefault(case.read.site, []).append(case)
    return cases_by_site.values()


def _by_gradient(analysis: Analysis) -> dict[int, list[GradRead]]:
    """Gradient tensor -> its reads in program order, of those that a later backward adds to.

    One that the program gave a place in a larger buffer is meant to be the same for good.
    """
    capture = analysis.capture
    stale = {tensor for run in capture.backwards for tensor in run.stale}
    assigned = {w.gradient for w in capture.grad_writes if w.gradient >= 0}
    storages = {capture.tensors[g].storage: capture.tensors[g].extent for g in assigned}
    larger = {t.storage for t in capture.tensors if t.storage in storages and t.extent > storages[t.storage]}
    assigned = {g for g in assigned if capture.tensors[g].storage in larger}
    reads_by_gradient: dict[int, list[GradRead]] = {}
    for read in capture.grad_reads:
        if read.gradient >= 0 and read.leaf and read.tensor in stale and read.gradient not in assigned:
            reads_by_gradient.setdefault(read.gradient, []).append(read)
    return reads_by_gradient


def _changes(analysis: Analysis, read: GradRead) -> list[Backward]:
    """The backwards that added to a gradient that was there."""
    return [
        run
        for run in analysis.capture.backwards
        if run.completed and read.tensor in run.reached and read.tensor in run.stale
    ]


def _collected(analysis: Analysis, reads: list[GradRead]) -> Overwritten | None:
    """The same tensor put into one container again and again, within one run of a loop: all its entries are the last."""
    capture = analysis.capture
    loops = {k.site: k.growing[0] for k in capture.gradients_kept if k.growing}
    mine = [r for r in reads if r.site in loops]
    changes = {r.tensor: _changes(analysis, r) for r in {r.tensor: r for r in mine}.values()}
    looked_at: set[tuple[int, int]] = set()
    for before, after in pairwise(mine):
        between = [run for run in changes[before.tensor] if before.at < run.start and run.end <= after.at]
        loop = loops[before.site]
        if before.site != after.site or not between or not _within_one(analysis, loop, before, after):
            continue
        since = [r for r in reads if r.at >= after.at and r is not after]
        end = next((r.at for r in since if r.site != after.site), len(capture.ops))
        last = [r for r in since if r.site == after.site and r.at < end]
        start = (last[-1] if last else after).at
        if (start, end) in looked_at:  # Of all turns of a loop the entries are used behind it.
            continue
        looked_at.add((start, end))
        for op in capture.ops[start:end]:
            if not op.has(_ASIDE) and not op.writes and _reads(analysis, op, before.gradient):
                return Overwritten(before, between[0], op)
    return None


def _within_one(analysis: Analysis, loop: Lines, before: GradRead, after: GradRead) -> bool:
    """Whether the program stayed in the loop from one read to the other: it is the same container."""
    ops = analysis.capture.ops[before.at : after.at]
    return all(_inside(analysis, op.site, [loop]) for op in ops if not op.has(Trait.BACKWARD))


def _inside(analysis: Analysis, site: int, lines: Iterable[Lines]) -> bool:
    frames = analysis.capture.site(site)
    return any(f.filename == part.filename and part.first <= f.lineno <= part.last for part in lines for f in frames)


def _reads(analysis: Analysis, op: Op, gradient: int) -> bool:
    return any(_same(analysis, t, gradient) for t in op.inputs)


def _same(analysis: Analysis, tensor: int, gradient: int) -> bool:
    """Whether it is that tensor, or a view of all of it."""
    one, other = analysis.capture.tensors[tensor], analysis.capture.tensors[gradient]
    whole = (one.storage, one.offset, one.extent) == (other.storage, other.offset, other.extent)
    return tensor == gradient or (one.storage >= 0 and whole)


def _against_itself(analysis: Analysis, reads: list[GradRead]) -> Overwritten | None:
    """One op that is given the old gradient and the new one, both of them the same tensor."""
    capture, kept = analysis.capture, {k.site: k for k in analysis.capture.gradients_kept}
    gradient = reads[0].gradient
    changes = _changes(analysis, reads[0])
    for index in capture.readers.get(gradient, ()) if changes else ():
        for op in _near(analysis, index):
            run = next((r for r in reversed(changes) if r.end <= op.index), None)
            if (
                run is None
                or op.has(_ASIDE)
                or op.writes
                or is_a(op.name, OpKind.COMPARES)
                or not _paired(analysis, op, gradient)
            ):
                continue
            fresh = {r.site for r in reads if run.end <= r.at <= op.index}
            for read in reads:
                if read.at >= run.start or read.site not in kept or not fresh:
                    continue
                uses = kept[read.site].renamed if read.site in fresh else kept[read.site].uses
                if _inside(analysis, op.site, uses) and told_apart(analysis, op):
                    return Overwritten(read, run, op)
    return None


def _near(analysis: Analysis, index: int) -> Iterator[Op]:
    """The op that reads the gradient, and the one that reads its result in the same expression (``2 * old - new``)."""
    op = analysis.capture.ops[index]
    yield op
    for output in op.outputs:
        for reader in analysis.capture.readers.get(output, ())[:2]:
            if reader > index and _encloses(analysis, analysis.capture.ops[reader], op):
                yield analysis.capture.ops[reader]


def _encloses(analysis: Analysis, outer: Op, inner: Op) -> bool:
    """Whether one expression of the program is a part of the other, on one line."""
    a, b = analysis.capture.place(outer.site), analysis.capture.place(inner.site)
    if a is None or b is None or a.column < 0 or b.column < 0 or a.lineno != a.end_lineno:
        return False
    return a.line == b.line and a.column <= b.column <= b.end_column <= a.end_column


def _paired(analysis: Analysis, op: Op, gradient: int) -> bool:
    """Whether two inputs are the gradient, or computed from it element by element in the same expression."""
    shape, count = analysis.capture.tensors[gradient].shape, 0
    for tensor in op.inputs:
        made = analysis.flow.birth(tensor)
        from_it = made is not None and _encloses(analysis, op, made) and _reads(analysis, made, gradient)
        count += _same(analysis, tensor, gradient) or (from_it and analysis.capture.tensors[tensor].shape == shape)
    return count >= 2

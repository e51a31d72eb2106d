"""Clipping that changes no gradient a step uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.clipping_sites import clipping_sites
from autograd_inspector.analysis.gradients.memory import gradients_of, zeroed_in_place
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead, GradWrite, Step


def clipped_in_vain(analysis: Analysis) -> Iterator[tuple[int, list[GradRead], tuple[str, int], bool]]:
    """(site, reads, (what is wrong, the site of what came before it, or the step), whether it raised) of lines that clip."""
    runs = analysis.capture.completed_runs
    reported_lines: set[tuple[str, int]] = set()
    sites, failed = clipping_sites(analysis), line_of(analysis, analysis.capture.error_site)
    reads_of: dict[tuple[str, int], list[GradRead]] = {}
    for read in analysis.capture.grad_reads:
        if read.site in sites:
            reads_of.setdefault(sites[read.site], []).append(read)
    order = _Order(analysis, runs) if reads_of else None
    for site, line in sites.items():
        raised = line == failed
        if line in reported_lines or not (runs or raised):
            continue
        reads = reads_of.get(line, [])
        verdicts = [order.verdict(read) for read in reads] if order is not None else []
        what, other = (
            verdicts[-1] if verdicts else ("nothing" if raised or _clips_nothing(analysis, site, runs) else "", -1)
        )
        if verdicts and not any(verdict for verdict, _ in verdicts) and _emptied(analysis, site, reads):
            reported_lines.add(line)
            yield site, reads, ("emptied", -1), raised
            continue
        if what and all(verdict[0] in {what, "early"} for verdict in verdicts):
            reported_lines.add(line)
            if what == "early" and runs and analysis.received_gradient.isdisjoint(read.tensor for read in reads):
                what = "other"
                if _of_a_wrong_optimizer(analysis, reads):
                    continue
            yield site, reads, (what, other), raised


def _of_a_wrong_optimizer(analysis: Analysis, reads: Sequence[GradRead]) -> bool:
    """Whether an optimizer has them, and not what gets the gradients: that is the fault, whoever clips."""
    loose = analysis.unoptimized
    return loose is not None and bool(loose.parameters) and {read.tensor for read in reads} <= {*loose.optimizer.held}


def _clips_nothing(analysis: Analysis, site: int, runs: Sequence[Backward]) -> bool:
    """Without parameters clipping returns a norm of zero that it makes anew."""
    return any(at >= runs[0].end for at in _numbers_made(analysis, site))


def _numbers_made(analysis: Analysis, site: int) -> list[int]:
    """When the call at a site made a norm anew."""
    return [op.index for op in analysis.capture.ops if op.site == site and op.name == "tensor"]


def _emptied(analysis: Analysis, site: int, reads: Sequence[GradRead]) -> bool:
    """Whether a later call was given nothing, although backward had reached all that the one before had clipped."""
    last, tensors = max(read.at for read in reads), {read.tensor for read in reads if read.site == site}
    without = next((at for at in reversed(_numbers_made(analysis, site)) if at > last), None)
    if without is None or not tensors:
        return False
    return all(any(True for _ in analysis.timeline.backwards_to(t).within(last + 1, without)) for t in tensors)


class _Order:
    """When backward reached each parameter, and when it was stepped: clipping reads the gradient of every one."""

    def __init__(self, analysis: Analysis, runs: Sequence[Backward]) -> None:
        self._analysis = analysis
        self._runs: dict[int, list[Backward]] = {}
        self._stepped: dict[int, list[Step]] = {}
        for run in runs:
            for tensor in run.reached:
                self._runs.setdefault(tensor, []).append(run)
        for step in analysis.capture.steps:
            for parameter in step.parameters:
                self._stepped.setdefault(parameter.tensor, []).append(step)

    def verdict(self, read: GradRead) -> tuple[str, int]:
        """("late" / "inside" / "early" / "copied" / "zero" / "" for right, the site of what came before it, or the step)."""
        analysis = self._analysis
        last = next((run for run in reversed(self._runs.get(read.tensor, ())) if run.end <= read.at), None)
        computed = last.end if last is not None else -1
        if read.gradient < 0:
            during = self._steps(read.tensor, last.start, computed) if last is not None else []
            if during:
                return "inside", during[-1].site
            cleared = clearings(analysis, [read.tensor], computed, read.at)
            return "early", cleared[-1].site if cleared else -1
        if computed < 0:
            return "", -1
        stepped = self._steps(read.tensor, computed, read.at)
        if stepped:
            return "late", stepped[-1].site
        zeroed = zeroed_in_place(analysis, gradients_of(analysis, [read.tensor]), computed, read.at)
        if zeroed is not None:
            return "early", zeroed.site
        return self._verdict_in_time(read, computed)

    def _verdict_in_time(self, read: GradRead, computed: int) -> tuple[str, int]:
        """The verdict on what is read between backward() and the step."""
        copied = self._copied(read, computed)
        if copied is not None:
            return "copied", copied.site
        used = next((step.site for step in self._stepped.get(read.tensor, ()) if step.at >= read.at), -1)
        return ("zero", used) if read.clips == 0 and used >= 0 else ("", -1)

    def _copied(self, read: GradRead, since: int) -> GradWrite | None:
        """Where the gradient had become the .grad of what is stepped instead, which keeps it until that step."""
        capture, flow = self._analysis.capture, self._analysis.flow
        writes = [] if read.tensor in self._stepped else capture.grad_writes
        for write in writes:
            if not (since <= write.at <= read.at and write.tensor in self._stepped and write.gradient >= 0):
                continue
            above = flow.upstream([(write.gradient, write.at)], lambda *_: True)
            step = next((step for step in self._stepped[write.tensor] if step.at >= read.at), None)
            again = step is not None and self._analysis.timeline.writes_of(write.tensor).within(read.at + 1, step.at)
            if step is not None and not again and any(read.gradient in op.inputs for op, _ in above):
                return write
        return None

    def _steps(self, tensor: int, start: int, end: int) -> list[Step]:
        return [step for step in self._stepped.get(tensor, ()) if start <= step.at < end]

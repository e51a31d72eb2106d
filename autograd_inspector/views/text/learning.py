"""What a preflight found, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.learning import Learning
from autograd_inspector.model.wording import agree, counted, join_names
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.summary import brief

_NAMED = 6
_LATE = "learns from the second step on (a gradient of zero in the first, as LoRA's A has while B is zero)"


def verdict(learnings: Iterable[Learning], report: ReportData) -> str:
    """The answer in one sentence."""
    meant = [each for each in learnings if each.meant]
    if report.capture.error:
        return f"the step raised {shown(report.capture.error.splitlines()[0], 400)}"
    if not meant:
        return "nothing is trained: the optimizer holds no parameter that requires grad"
    count = counted(len(meant), "trainable parameter")
    bad = sum(not each.ok for each in meant)
    if bad:
        return f"{bad:,} of {count} did not get a gradient and move"
    return f"{agree(meant, 'the', 'all')} {count} got a gradient and moved"


def to_text(learnings: Iterable[Learning], report: ReportData) -> str:
    """The verdict, who did not learn and why, who was not meant to, and the findings with their lines."""
    learnings = list(learnings)
    return "\n".join([f"preflight: {verdict(learnings, report)}", *_reasons(learnings, report), *_findings(report)])


def _reasons(learnings: list[Learning], report: ReportData) -> Iterator[str]:
    def names_of(learning: Learning) -> list[str]:
        """As the findings call it; what is in no model has only its place in the optimizer."""
        registered = report.capture.display_names.registered
        return [registered(name) if learning.standing != "not in the model" else name for name in learning.names]

    meant = [each for each in learnings if each.meant]
    yield from _grouped((each.why, " = ".join(names_of(each))) for each in meant)
    yield from _grouped((_LATE, names_of(each)[0]) for each in meant if each.late)
    for standing in dict.fromkeys(each.standing for each in learnings if not each.meant):
        names = [names_of(each)[0] for each in learnings if each.standing == standing]
        yield from _grouped((f"not trained: {len(names):,} {standing}", name) for name in names)


def _grouped(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for why, name in pairs:
        if why:
            groups.setdefault(why, []).append(name)
    for why, names in groups.items():
        yield f"  {why}: {join_names(map(shown, names), _NAMED)}"


def _findings(report: ReportData) -> Iterator[str]:
    yield from (brief(finding) for finding in report.findings if finding.severity != "info")

"""Analysis -> findings: a module for each rule, named after its code."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.messages import text_of
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.edit import Written
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.rank_summary import RankSummary
from autograd_inspector.model.ranks import RankedFinding, RankedPlacement
from autograd_inspector.rules.catalogue import CATALOGUE, Rule, Write
from autograd_inspector.rules.causes import merged, unignored
from autograd_inspector.rules.order import ordered
from autograd_inspector.rules.unread import unread

__all__ = ["CATALOGUE", "Rule", "findings_across", "findings_of", "unignored"]


def findings_of(
    capture: Capture,
    progress: Callable[[int, int], None] | None = None,
    write: Write = lambda _: Written(),
    codes: Collection[str] = CATALOGUE,
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """(findings, the one to fix first at the top; notes about rules that failed, and what would show more).

    ``progress`` is told before each rule how many have looked at the capture, and of how many.

    ``codes`` are the rules to apply. ``write`` makes the edits of what a rule advises. A rule that fails says so in the notes and takes nothing else with it: the report of the others stands.
    """
    analysis = Analysis(capture)
    findings: list[Finding] = []
    notes: list[str] = []
    for done, code in enumerate(sorted(codes)):
        if progress is not None:
            progress(done, len(codes))
        try:
            findings += CATALOGUE[code].findings(analysis, write)
        except Exception as failure:
            if is_interrupt(failure) or os.environ.get("AUTOGRAD_INSPECTOR_STRICT"):
                raise
            notes.append(f"rule {code} failed on this capture: {text_of(failure)}")
    return tuple(merged(ordered(capture, findings))), (*unread(capture), *notes)


def findings_across(
    ranks: Mapping[int, RankSummary], placement: RankedPlacement, own: Iterable[Finding] = ()
) -> tuple[tuple[RankedFinding, ...], tuple[str, ...]]:
    """(what only the comparison of ranks shows, notes about rules that failed); ``own``: what single ranks found."""
    findings: list[RankedFinding] = []
    notes: list[str] = []
    comparing = [code for code in sorted(CATALOGUE) if CATALOGUE[code].compare is not None and len(ranks) > 1]
    told = any(finding.rule in comparing and finding.severity != "info" for finding in own)
    for code, last in [*((code, False) for code in comparing), *((code, True) for code in comparing)]:
        if last and (told or findings):
            break
        try:
            findings += CATALOGUE[code].across(ranks, placement, last=last)
        except Exception as failure:
            if is_interrupt(failure) or os.environ.get("AUTOGRAD_INSPECTOR_STRICT"):
                raise
            notes.append(f"rule {code} failed on these ranks: {text_of(failure)}")
    return tuple(findings), tuple(notes)

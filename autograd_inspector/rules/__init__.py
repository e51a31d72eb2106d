"""Facts -> findings: a folder for each family of rules."""

from __future__ import annotations

import os
from collections.abc import Callable

from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.catalogue import CATALOGUE, Rule
from autograd_inspector.rules.causes import merged, unignored
from autograd_inspector.rules.cuts import (  # noqa: F401 - entering rules into the catalogue
    custom,
    grad_mode,
    inference,
    left_autograd,
    unreached,
    unregistered,
    untrainable,
)
from autograd_inspector.rules.edits import (  # noqa: F401 - entering rules into the catalogue
    forbidden,
    inplace,
    unseen,
)
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.gradients import (  # noqa: F401 - entering rules into the catalogue
    nonleaf,
    protocol,
    rewritten,
    unused,
    unwanted,
    values,
    zeros,
)
from autograd_inspector.rules.graphs import (  # noqa: F401 - entering rules into the catalogue
    freed,
    leaks,
    serialized,
)
from autograd_inspector.rules.optimizers import (  # noqa: F401 - entering rules into the catalogue
    duplicates,
    frozen,
    modes,
    steps,
    strangers,
)
from autograd_inspector.rules.order import ordered
from autograd_inspector.rules.state import (  # noqa: F401 - entering rules into the catalogue
    device,
    dtype,
    fit,
    missing,
)
from autograd_inspector.rules.unread import unread

__all__ = ["CATALOGUE", "Rule", "findings_of", "unignored"]


def findings_of(
    capture: Capture, progress: Callable[[int, int], None] | None = None
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """(findings, the one to fix first at the top; notes about rules that failed, and what would show more).

    ``progress`` is told before each rule how many have looked at the capture, and of how many.

    A rule that fails says so in the notes and takes nothing else with it: the report of the others stands.
    """
    facts = Facts(capture)
    found: list[Finding] = []
    notes: list[str] = []
    for done, code in enumerate(sorted(CATALOGUE)):
        if progress is not None:
            progress(done, len(CATALOGUE))
        try:
            found += CATALOGUE[code].check(facts)
        except Exception as failure:
            if is_interrupt(failure) or os.environ.get("AUTOGRAD_INSPECTOR_STRICT"):
                raise
            notes.append(f"rule {code} failed on this capture: {type(failure).__name__}: {failure}")
    return tuple(merged(ordered(capture, found))), (*unread(capture), *notes)

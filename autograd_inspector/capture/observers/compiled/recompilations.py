"""How often code was compiled again while it ran, and what no longer held of what it had been compiled for."""

from __future__ import annotations

from autograd_inspector.capture.compiled.plan import Plan
from autograd_inspector.capture.observers.compiled.bridges import RESUMED
from autograd_inspector.capture.recording.recording import Recording

_SHOWN = 3


class Recompilations:
    """Of one capture: one note for each function."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._reasons: dict[str, list[str]] = {}
        self._seen: set[int] = set()

    def runs(self, plan: Plan) -> None:
        """A graph is about to run. The first time it tells what made it necessary."""
        if not plan.again or id(plan) in self._seen:
            return
        self._seen.add(id(plan))  # A graph lives as long as the code that was compiled from it.
        what = _what(plan)
        reasons = self._reasons.setdefault(what, [])
        before = _note(what, reasons)
        reasons.append(plan.again.strip().splitlines()[0].partition("  #")[0].strip().rpartition(": ")[2])
        notes = self._recording.notes
        if before in notes:
            notes[notes.index(before)] = _note(what, reasons)
        else:
            self._recording.note(_note(what, reasons))


def _what(plan: Plan) -> str:
    code = plan.code
    name, _, line = code.co_name.removeprefix(RESUMED).rpartition("_at_")
    where = f"{code.co_filename.replace(chr(92), '/').rpartition('/')[2]}:{line if name else code.co_firstlineno}"
    return f"{name or code.co_name} ({where})"


def _note(what: str, reasons: list[str]) -> str:
    if len(reasons) <= 1:
        return f"torch.compile compiled {what} once more, as this no longer held: {''.join(reasons)}"
    different = list(dict.fromkeys(reasons))
    more = f"; and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
    shown = "; ".join(different[:_SHOWN])
    return f"torch.compile compiled {what} {len(reasons)} times more, as this no longer held: {shown}{more}"

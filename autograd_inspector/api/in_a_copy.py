"""A program that is run again in a forked copy of this process, with other texts of its files."""

from __future__ import annotations

import json
from collections.abc import Callable

from autograd_inspector.api.forked import answer_of
from autograd_inspector.api.new_code import put_in
from autograd_inspector.api.report import Report
from autograd_inspector.api.trials import Rerun
from autograd_inspector.capture.forking import unfit
from autograd_inspector.capture.lines.gutter import whole_text_of


def rerunning(run: Callable[[], Report], limit: float) -> Rerun:
    """What runs it with other texts. Raises RuntimeError where a copy of this process cannot run it."""
    why = unfit()
    if why:
        raise RuntimeError(f"autograd_inspector: the fixes cannot be tried: {why}")

    def rerun(texts: dict[str, str]) -> Report | None:
        answer = answer_of(lambda request: _ran(run, json.loads(request)), json.dumps(texts).encode(), limit)
        return Report.from_json(answer) if answer else None

    return rerun


def _ran(run: Callable[[], Report], texts: dict[str, str]) -> bytes:
    """The report with the functions of these texts; nothing where other code than theirs is changed."""
    if not all(put_in(filename, whole_text_of(filename), text) for filename, text in texts.items()):
        return b""
    return run().to_json().encode()

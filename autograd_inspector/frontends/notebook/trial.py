"""``%%autograd_inspect --try-fixes``: the cell runs with its edits in a copy of the kernel from before it ran."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from autograd_inspector.api.forked import Spare
from autograd_inspector.api.inspect import inspect
from autograd_inspector.api.new_code import put_in
from autograd_inspector.api.report import Report
from autograd_inspector.api.trials import candidates, tried
from autograd_inspector.capture.forking import unfit
from autograd_inspector.capture.lines.gutter import whole_text_of
from autograd_inspector.frontends.notebook.outcome import say
from autograd_inspector.kernel.options import Options

_LIMIT = 120.0
"""Seconds that one trial may take."""


class CellTrials:
    """A copy of the kernel as it is before a cell runs; none where the kernel cannot be copied."""

    def __init__(self, shell: InteractiveShell, options: Options, raw_cell: str, count: int) -> None:
        self._cell = _without_header(raw_cell)
        self._shell, self._options, self._count = shell, options, count
        why = unfit()
        if not why and _awaits(shell, self._cell):
            why = "`await` outside a function"
        self._spare = None if why else Spare(self._ran)
        if why:
            say(f"the fixes cannot be tried: {why}")

    def tried(self, report: Report) -> Report:
        """The report with what trials showed of its edits; the copy is gone then."""
        try:
            return report if self._spare is None else tried(report, candidates(report), self._rerun, say)
        finally:
            self.close()

    def close(self) -> None:
        """End the copy."""
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.close()

    def _rerun(self, texts: dict[str, str]) -> Report | None:
        answer = None if self._spare is None else self._spare.ask(json.dumps(self._apart(texts)).encode(), _LIMIT)
        return Report.from_json(answer) if answer else None

    def _apart(self, texts: dict[str, str]) -> dict[str, Any]:
        """The cell's own text, and for each other file or cell its text as it is and as it is to be."""
        before = {filename: whole_text_of(filename) for filename in texts}
        own = [filename for filename, text in before.items() if _without_header(text) == self._cell]
        others = [[filename, before[filename], text] for filename, text in texts.items() if filename not in own]
        return {"cell": _without_header(texts[own[0]]) if own else self._cell, "others": others}

    def _ran(self, request: bytes) -> bytes:
        """In a copy of the copy: the report of the cell with another text."""
        texts = json.loads(request)
        if not all(put_in(*each) for each in texts["others"]):
            return b""
        shell, options = self._shell, self._options
        vars(shell.display_pub)["publish"] = lambda *_, **__: None
        transformed = shell.transform_cell(texts["cell"])
        name = shell.compile.cache(transformed, self._count, raw_code=texts["cell"])
        code = compile(transformed, name, "exec", dont_inherit=True)
        compiled: Any = "eager" if options.eager else "as it is"
        with (
            contextlib.suppress(Exception),
            shell.builtin_trap,
            inspect(values=options.values, ignore=options.ignore, compiled=compiled) as again,
        ):
            exec(code, shell.user_global_ns, shell.user_ns)  # noqa: S102 - the user's own cell
        return again.report.to_json().encode()


def _awaits(shell: InteractiveShell, cell: str) -> bool:
    """Whether IPython runs the cell in an event loop."""
    try:
        transformed = shell.transform_cell(cell)
    except SyntaxError:
        return False  # The cell will not run.
    return bool(shell.should_run_async(cell, transformed_cell=transformed))


def _without_header(cell: str) -> str:
    """The cell with a blank line in place of its header, which would run it inspected once more."""
    return "\n" + cell.strip().partition("\n")[2]

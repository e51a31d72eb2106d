"""A report's edits, made in the text of the program."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from autograd_inspector.api.programs import Programs
from autograd_inspector.capture.lines.gutter import whole_text_of
from autograd_inspector.edits.patching import compiles, diff, patched
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.finding import Finding


def patched_files(findings: Iterable[Finding], codes: tuple[str, ...] | None, *, unsafe: bool) -> dict[str, str]:
    """File or cell -> its whole new text, of those that the findings' edits change."""
    chosen = [
        finding.edits
        for finding in findings
        if finding.edits
        and (finding.severity != "info" if codes is None else finding.rule.startswith(codes))
        and (unsafe or finding.applicability == "safe")
    ]
    files = dict.fromkeys(edit.filename for edits in chosen for edit in edits)
    new_texts = {}
    for filename in files:
        before = whole_text_of(filename)
        after = _as_python(before, [_of_file(edits, filename) for edits in chosen])
        if after != before:
            new_texts[filename] = after
    return new_texts


def patch_of_edits(edits: tuple[Edit, ...], programs: Programs) -> str:
    """One finding's edits as a unified diff; a cell is named by its execution count."""
    files = dict.fromkeys((edit.filename, edit.cell) for edit in edits)
    concerned = [program for filename, cell in files if (program := programs.named(filename, cell)) is not None]
    return "".join(
        diff(one.cell or _shown(one.filename), one.text, patched(one.text, [_of_file(edits, one.filename)]))
        for one in concerned
    )


def patch_of(new_texts: dict[str, str]) -> str:
    """One unified diff of them all."""
    return "".join(diff(_shown(filename), whole_text_of(filename), after) for filename, after in new_texts.items())


def _shown(filename: str) -> str:
    """The name relative to the working folder, for a file below it."""
    here, path = Path.cwd(), Path(filename)
    return str(path.relative_to(here)) if path.is_relative_to(here) else filename


def _of_file(edits: tuple[Edit, ...], filename: str) -> list[Edit]:
    return [edit for edit in edits if edit.filename == filename]


def _as_python(before: str, groups: list[list[Edit]]) -> str:
    """The text with as many findings' edits as can stand together, the first in order before the others."""
    kept: list[list[Edit]] = []
    for group in groups:
        if group and compiles(patched(before, [*kept, group])):
            kept.append(group)
    return patched(before, kept)

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
    """File or cell -> its whole new text, of those that the findings' edits change.

    A finding's edits are made all together, in each of their files, or not at all: they are left out where a file does
    not read as it did when they were written, or an earlier finding has changed the same lines.
    """
    programs = Programs()
    made: dict[str, list[list[Edit]]] = {}
    for finding in findings:
        wanted = finding.severity != "info" if codes is None else finding.rule.startswith(codes)
        if not finding.edits or not wanted or not (unsafe or finding.applicability == "safe"):
            continue
        if _changes(patch_of_edits(finding.edits, programs)) != _changes(finding.patch):
            continue
        with_it = {
            filename: [*made.get(filename, []), _of_file(finding.edits, filename)]
            for filename in dict.fromkeys(edit.filename for edit in finding.edits)
        }
        if all(_stands(whole_text_of(filename), groups) for filename, groups in with_it.items()):
            made |= with_it
    return {filename: patched(whole_text_of(filename), groups) for filename, groups in made.items()}


def _changes(patch: str) -> list[str]:
    """What a patch says of the lines; the name of a file depends on the working folder."""
    return [line for line in patch.split("\n") if not line.startswith(("--- a/", "+++ b/"))]


def _stands(text: str, groups: list[list[Edit]]) -> bool:
    """Whether the last finding's edits can be made with those before, and the result is Python."""
    *others, last = groups
    after = patched(text, groups)
    return (last in others or after != patched(text, others)) and compiles(after)


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

"""Where findings are, as SARIF says it: artifacts, regions, the story as a code flow."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from autograd_inspector.model.edit import Edit
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.views.display_text import carried, shown
from autograd_inspector.views.sarif.texts import fix_of, plain

SRCROOT = "%SRCROOT%"
_LONGEST = 1000
"""Characters of a snippet."""


class Places:
    """Locations relative to the folder that a code host takes for its repository's root.

    ``program`` is what was run: a cell's lines are the notebook's, and a finding without a line is the program's.
    """

    def __init__(self, root: Path, program: Path, text_of: Callable[[str], str]) -> None:
        self._root = root.resolve()
        self._program = program
        self._text_of = cache(text_of)

    def of(self, finding: Finding) -> dict[str, Any]:
        """``locations`` (the culprit), ``relatedLocations`` (the rest), ``codeFlows`` (the story, culprit first)."""
        if not finding.locations:
            return {"locations": [{"physicalLocation": {"artifactLocation": self._artifact(self._program)}}]}
        story = [self._place(location) for location in finding.locations]
        properties: dict[str, Any] = {"locations": story[:1]}
        if len(story) > 1:
            properties["relatedLocations"] = [{"id": number, **place} for number, place in enumerate(story[1:], 1)]
            properties["codeFlows"] = [{"threadFlows": [{"locations": [{"location": place} for place in story]}]}]
        return properties

    def fixes(self, finding: Finding) -> dict[str, Any]:
        """``fixes``: the edits, file by file; none for cells, whose lines are not those of a file."""
        files = dict.fromkeys(edit.filename for edit in finding.edits)
        if not files or any(edit.cell is not None or not edit.filename for edit in finding.edits):
            return {}
        changes = [
            {
                "artifactLocation": self._artifact(Path(name)),
                "replacements": [self._replacement(edit) for edit in finding.edits if edit.filename == name],
            }
            for name in files
        ]
        return {"fixes": [{"description": {"text": plain(fix_of(finding))}, "artifactChanges": changes}]}

    def _replacement(self, edit: Edit) -> dict[str, Any]:
        """SARIF counts columns from 1, in characters."""
        region = {
            "startLine": edit.lineno,
            "startColumn": self._characters(edit.filename, edit.lineno, edit.column) + 1,
            "endLine": edit.end_lineno,
            "endColumn": self._characters(edit.filename, edit.end_lineno, edit.end_column) + 1,
        }
        return {"deletedRegion": region, "insertedContent": {"text": carried(edit.text)}}

    def _characters(self, filename: str, lineno: int, column: int) -> int:
        """How many characters so many bytes of a line are; of a text that is not known, as many."""
        lines = self._text_of(filename).split("\n")
        line = lines[lineno - 1] if lineno <= len(lines) else ""
        return len(line.encode()[:column].decode(errors="replace")) if len(line.encode()) >= column else column

    def uri(self, location: Location) -> str:
        """The file's name as the log has it."""
        return str(self._artifact(self._file(location))["uri"])

    def _file(self, location: Location) -> Path:
        elsewhere = location.cell is not None or _generated(location)
        return self._program if elsewhere else Path(location.filename)

    def _artifact(self, file: Path) -> dict[str, str]:
        path = file if file.is_absolute() else self._root / file
        with suppress(OSError, ValueError):  # A program may call its code what no file can be called.
            path = path.resolve()
        if path.is_relative_to(self._root):
            return {"uri": _quoted(path.relative_to(self._root)), "uriBaseId": SRCROOT}
        try:
            return {"uri": path.as_uri()}
        except ValueError:
            return {"uri": f"file://{_quoted(path)}"}

    def _place(self, location: Location) -> dict[str, Any]:
        physical: dict[str, Any] = {"artifactLocation": self._artifact(self._file(location))}
        # A notebook is a JSON file: the lines of its cells are not its own lines.
        if location.cell is None and not _generated(location):
            physical |= _regions(location)
        role = shown(location.role or "at", 40)
        line = f"{role}: {shown(location.place, 200)}  {shown(location.source)}".rstrip()
        return {"physicalLocation": physical, **self._logical(location), "message": {"text": plain(line)}}

    def _logical(self, location: Location) -> dict[str, Any]:
        """The cell and the function that a line is in."""
        logical_locations: list[dict[str, Any]] = []
        if location.cell is not None:
            name = shown(location.cell)
            logical_locations.append(
                {"name": name, "fullyQualifiedName": f"{self._program.name}::{name}", "kind": "cell"}
            )
        if location.function and not location.function.startswith("<module"):
            logical_locations.append({"fullyQualifiedName": shown(location.function), "kind": "function"})
        return {"logicalLocations": logical_locations} if logical_locations else {}


def _quoted(path: Path) -> str:
    """As a part of a URI; a name that is no UTF-8 keeps its bytes."""
    try:
        return quote(path.as_posix().encode(errors="surrogateescape"))
    except UnicodeEncodeError:
        return quote(path.as_posix(), errors="replace")


def _snippet(text: str) -> dict[str, str]:
    """Code of the program; nothing in it is obeyed by a viewer, or no text."""
    return {"text": shown(text, _LONGEST)}


def _generated(location: Location) -> bool:
    """Code from exec() has no file: "<string>"."""
    return not location.filename or location.filename.startswith("<")


def _regions(location: Location) -> dict[str, Any]:
    """The line, and in it the expression that ran."""
    if location.lineno < 1:
        return {}
    columns = _columns(location)
    line: dict[str, Any] = {"startLine": location.lineno}
    text = {"snippet": _snippet(location.source)} if location.source else {}
    if columns is None:
        return {"region": {**line, **text}}
    start, end = columns
    region = {**line, "startColumn": start, "endColumn": end, "snippet": _snippet(location.expression)}
    return {"region": region, "contextRegion": {**line, **text}}


def _columns(location: Location) -> tuple[int, int] | None:
    """From 1, in characters: a location counts UTF-8 bytes. None where the expression spans lines or is unknown."""
    if location.column < 0 or not location.expression or location.end_lineno not in {0, location.lineno}:
        return None
    before, expression, _ = location.source.partition(location.expression)
    if not expression:
        return None
    # What is left of the first character of `source` is indentation, one byte each.
    start = location.column - (0 if location.source.isascii() else len(before.encode(errors="replace")) - len(before))
    start = max(start, 0)
    return start + 1, start + 1 + len(location.expression)

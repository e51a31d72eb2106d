"""The tutorials as they are committed; `make test` runs them besides, with nbval."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from autograd_inspector.views.notebook.saved import CAPTURE, opened

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MACHINE = re.compile(r"/(?:home|root|work|tmp|Users|private|var|opt|usr)/|/site-packages/|/ipykernel_\d+|[A-Z]:\\\\")
"""What a path of somebody's machine begins with."""
SHOWS = re.compile(r"\s*%%autograd_inspect\b(?!.*--quiet)|(?:.*\n)*%autograd_inspect\s+(?!on\b|off\b|--)\w+")
HIDDEN = {"source_hidden": True, "outputs_hidden": True}
LARGEST = 1_000_000

pytestmark = pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)


def cells(path, kind="code"):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def tagged(path, tag):
    return [cell for cell in cells(path) if tag in cell["metadata"].get("tags", ())]


def source(cell):
    return "".join(cell["source"])


def said(output):
    return "".join(output.get("data", {}).get("text/plain", ""))


def opened_up(path):
    """The file's text, with what its captures say in place of their compressed form."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if CAPTURE in data:
                data[CAPTURE] = opened(data[CAPTURE])[0]
    return json.dumps(notebook, ensure_ascii=False)


def test_every_report_is_saved(path):
    """A cell that shows a report has it saved: as text, and as the capture that a viewer draws from."""
    showing = [cell for cell in cells(path) if SHOWS.match(source(cell))]
    assert showing or not any(source(cell).startswith("%%autograd_inspect") for cell in cells(path))
    for cell in showing:
        reports = [output for output in cell["outputs"] if said(output).startswith("autograd inspector:")]
        assert reports, f"{cell['id']}: run python scripts/save_tutorials.py {path.name}"
        assert sum(CAPTURE in output.get("data", {}) for output in cell["outputs"]) == len(reports)


def test_it_was_saved_after_one_run_from_the_top(path):
    """Execution counts are 1, 2, 3 …: "In [3]" in a saved report is the cell that has this number."""
    assert [cell["execution_count"] for cell in cells(path)] == list(range(1, len(cells(path)) + 1))


def test_nothing_of_the_run_or_the_machine_is_saved(path):
    """No widget state, no widget views, no times, no terminal colours, no path of a machine."""
    text = opened_up(path)
    assert "application/vnd.jupyter.widget" not in text
    assert "iopub.status" not in text
    assert "\\u001b" not in text
    assert MACHINE.findall(text) == []


def test_cell_ids_are_numbered(path):
    """Ids are ``slug-00``, ``slug-01`` …: a cell keeps its name, and differences between versions stay small."""
    ids = [cell["id"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    slug = ids[0].removesuffix("-00")
    assert re.fullmatch(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", slug)
    assert ids == [f"{slug}-{number:02d}" for number in range(len(ids))]


def test_the_first_cell_loads_the_extension(path):
    """A reader who runs the first code cell has the magic."""
    assert "%load_ext autograd_inspector" in source(cells(path)[0])


def test_only_the_expected_cells_raised(path):
    """A cell that raised says so by its tag, and one with the tag did raise: nbval accepts no other."""
    raised = [cell["id"] for cell in cells(path) if any(out["output_type"] == "error" for out in cell["outputs"])]
    assert raised == [cell["id"] for cell in tagged(path, "raises-exception")]


def test_what_it_claims_is_compared(path):
    """At least one cell prints what the text claims, and nbval compares it with the saved output."""
    compared = tagged(path, "nbval-check-output")
    assert compared
    assert all(cell["outputs"] for cell in compared)


def test_exercises_have_hidden_solutions_that_show_they_are_right(path):
    """A solution is folded away, and asserts something or is inspected, in its last cell at the latest."""
    assert tagged(path, "solution")
    for solution, group in itertools.groupby(cells(path), lambda cell: "solution" in cell["metadata"].get("tags", ())):
        if solution:
            parts = list(group)
            assert [part["metadata"]["jupyter"] for part in parts] == [HIDDEN] * len(parts), parts[0]["id"]
            assert re.search(r"^\s*assert |^%%autograd_inspect", source(parts[-1]), re.MULTILINE), parts[-1]["id"]


def test_the_site_lists_it(path):
    """The site's list of tutorials links to it, and shows it in its contents."""
    listed = (ROOT / "notebooks" / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert f"(../../{path.name})" in listed
    assert re.search(rf"^{path.stem}$", listed, re.MULTILINE)


def test_it_is_small(path):
    """A repository keeps every version of it."""
    assert path.stat().st_size < LARGEST

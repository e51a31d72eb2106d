"""The extension's style sheets are on every page of JupyterLab, beside the widget's own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_inspector.views.colours import GRAPH, PAGE, SCHEMES

ROOT = Path(__file__).parents[2]
SRC = ROOT / "labextension" / "src"
ENOUGH = 30
"""Classes and selectors that are found at least: else the search itself is broken."""


def classes(text: str) -> set[str]:
    return set(re.findall(r"\bagi-[a-z]+(?:-[a-z]+)*", text))


def selectors(sheet: str) -> list[str]:
    """Of every rule; those inside of a media query too."""
    bare = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    heads = [head.strip() for head in re.findall(r"([^{};]+)\{", bare)]
    return [one for head in heads if not head.startswith("@") for one in re.split(r",(?![^(]*\))", head)]


@pytest.mark.parametrize("name", ["panel.css", "lab.css"])
def test_no_rule_of_the_extension_styles_the_widget_by_accident(name):
    """Each selector needs a class that the widget's own elements do not have."""
    widget = classes("".join(path.read_text() for path in (SRC / "view").rglob("*.ts")))
    found = selectors((SRC / "style" / name).read_text())
    assert len(widget) > ENOUGH
    assert len(found) > ENOUGH
    assert [one for one in found if classes(one) and classes(one) <= widget] == []


def test_the_widgets_colours_are_those_of_the_table():
    """labextension/src/style/colours.css is what scripts/colours.py writes."""
    command = [sys.executable, "scripts/colours.py", "--check"]
    run = subprocess.run(command, cwd=ROOT, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert run.returncode == 0


def test_no_other_sheet_has_colours_of_its_own():
    """Widget and static pages name the table's colours; the heat map's scale is one that is known by its numbers."""
    sheets = [*SRC.rglob("*.css"), *(ROOT / "autograd_inspector" / "views").rglob("*.css")]
    own = {path.name for path in sheets if re.search(r"#[0-9a-f]{3,8}\b", path.read_text())}
    assert own == {"colours.css", "vitals.css", "lab.css"}


def test_every_colour_is_named_where_it_is_used():
    """No sheet asks for a colour that there is not."""
    text = "".join(path.read_text() for path in SRC.rglob("*.css"))
    scripts = "".join(path.read_text() for path in SRC.rglob("*.ts"))
    defined = set(re.findall(r"(--agi-[\w-]+):", text)) | set(re.findall(r"(?<!var\()--agi-[\w-]+\w", scripts))
    assert set(re.findall(r"var\((--agi-[\w-]+)", text)) <= defined
    assert all(set(scheme) <= set(PAGE) for scheme in SCHEMES.values())
    assert not set(PAGE) & set(GRAPH)

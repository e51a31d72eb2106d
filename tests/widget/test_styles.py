"""The extension's style sheets are on every page of JupyterLab, beside the widget's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "labextension" / "src"
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

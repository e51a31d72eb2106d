"""CONTRIBUTING.md: the rule that it shows is one, and its test passes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import autograd_inspector
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.rules import CATALOGUE
from autograd_inspector.rules.catalogue import Rule
from scripts.docs.rules import rule_pages

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RULE, TESTS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def rule(monkeypatch):
    """The rule of the text in the catalogue, as if its file were there."""
    module = ModuleType("ag999_bare_sqrt")
    exec(compile(RULE, "CONTRIBUTING.md", "exec"), module.__dict__)
    found = Rule("AG999", "bare-sqrt", module.check)
    monkeypatch.setitem(CATALOGUE, "AG999", found)
    return found


def test_the_rule_finds_what_its_page_says(rule):
    """Its example is found, its fix is not, and the page has its four sections."""
    import torch
    from torch import nn

    titles = re.findall(r"^(\S.*)$", rule.page, re.MULTILINE)[1:]
    assert titles == ["Why it matters", "Example", "Fix", "References"]
    for section, count in (("Example", 1), ("Fix", 0)):
        line = re.search(rf"{section}\n    ::\n\n +(.+)\n", rule.page)[1]
        with autograd_inspector.inspect() as inspection:
            exec(line, {"net": nn.Linear(4, 2), "x": torch.randn(3, 4)})
        assert len(list(rule.check(Analysis(inspection.report.capture)))) == count


def test_its_test_passes(rule, tmp_path, monkeypatch):
    """The program of the text gets the finding at its line, and its twin gets none."""
    path = tmp_path / "test_ag999_bare_sqrt.py"
    path.write_text(TESTS, "utf-8")
    module = ModuleType("tests.rules.test_ag999_bare_sqrt")
    module.__package__ = "tests.rules"
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(TESTS, str(path), "exec"), module.__dict__)
    module.test_norm_written_by_hand()


def test_the_site_lists_it(rule):
    """Its code starts a group that has no title yet: the index of the site has the rule all the same."""
    assert f"| [{rule.code}]({rule.code}.md) | `{rule.name}` |" in rule_pages()["rules/index.md"]


def test_the_version_is_set_in_one_place():
    """The package's version is the front end's, as the release needs."""
    [version] = re.findall(r'"version": "([^"]+)"', (ROOT / "labextension/package.json").read_text("utf-8"))[:1]
    assert version == autograd_inspector.__version__


def test_files_that_it_names_exist():
    """Each path of the repository in backticks is there; those of the example are not."""
    named = set(re.findall(r"`((?:autograd_inspector|tests|scripts|notebooks|rules|advice|edits)/[\w/.]*)`", TEXT))
    package = ROOT / "autograd_inspector"
    missing = {name for name in named if not (ROOT / name).exists() and not (package / name).exists()}
    assert {name for name in missing if "999" not in name} == set()

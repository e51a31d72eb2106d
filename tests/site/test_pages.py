"""The site: what is written from the program is complete, what is written by hand fits it."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path

import pytest

from autograd_inspector.frontends.cli.parser import parser_of
from autograd_inspector.integrations.options import Options
from autograd_inspector.kernel.options import PARSER
from autograd_inspector.rules import CATALOGUE
from scripts.docs.collecting import PAGES, collected, tutorial
from scripts.docs.writing import write_all
from tests.test_layers import SEES

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = sorted(PAGES.rglob("*.md"))
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def pages():
    return {name: content.decode() for name, content in collected().items() if name.endswith(".md")}


def options_of(parser):
    return {name for action in parser._actions if action.help != "==SUPPRESS==" for name in action.option_strings}


def test_every_rule_has_a_page(pages):
    """A page a rule, with its summary, and a line in the index."""
    for code, rule in CATALOGUE.items():
        page = pages[f"rules/{code}.md"]
        assert page.startswith(f"# {code} {rule.name}\n")
        assert all(f"\n## {title}\n" in page for title in ("Why it matters", "Example", "Fix", "References"))
        assert f"| [{code}]({code}.md) | `{rule.name}` |" in pages["rules/index.md"]


def test_every_option_is_listed(pages):
    """Of the magic, of each command, of the callbacks."""
    assert all(re.search(rf"`(-\w, )?{name}\b|, {name}`", pages["reference/magic.md"]) for name in options_of(PARSER))
    [commands] = [action.choices for action in parser_of()._actions if hasattr(action, "_choices_actions")]
    for name, parser in commands.items():
        section = pages["reference/cli.md"].partition(f"## autograd-inspect {name}\n")[2].partition("\n## ")[0]
        assert options_of(parser)
        assert [one for one in options_of(parser) if not re.search(rf"[`, ]{one}\b", section)] == []
    assert all(f"| `{name}=` |" in pages["reference/callbacks.md"] for name in Options.__annotations__)


def test_every_setting_and_key_is_listed(pages):
    """The panel's settings and shortcuts, and what `?` shows in the widget."""
    schema = json.loads((ROOT / "labextension/schema/plugin.json").read_text("utf-8"))
    assert all(f"| `{name}` |" in pages["reference/panel_settings.md"] for name in schema["properties"])
    shown = (ROOT / "labextension/src/view/keys_help.ts").read_text("utf-8")
    listed = re.findall(r"^\| .* \| .* \|$", pages["reference/keys.md"], re.MULTILINE)
    assert len(listed) - 2 == len(re.findall(r"^  \[", shown, re.MULTILINE)) > 8


def test_the_house_has_the_rooms_of_the_package():
    """The picture and the table below it name each room, and no other."""
    drawn = re.findall(r'data-room="(\w+)"', (PAGES / "project/house.svg").read_text("utf-8"))
    told = re.findall(r"^\| `(\w+)/` \|", (PAGES / "project/architecture.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(drawn) == sorted(SEES)
    assert set(told) == {*SEES, "labextension"}


def test_every_promise_has_tests():
    """What stands beside a promise is a file or a folder with tests."""
    rows = re.findall(
        r"^\| (?!promise|---)(.+) \| (.+) \|$", (PAGES / "project/promises.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) > 20
    for promise, tests in rows:
        paths = [ROOT / name for name in re.findall(r"`(tests/[\w/.]+)`", tests)]
        assert paths, promise
        for path in paths:
            files = [path] if path.is_file() else sorted(path.rglob("test_*.py"))
            assert any("def test_" in file.read_text("utf-8") for file in files), f"{promise}: {path}"


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.relative_to(PAGES).as_posix())
def test_code_on_a_page_can_be_typed(path):
    """Python is Python, and each `autograd-inspect` line is understood by the command's parser."""
    for language, text in FENCE.findall(path.read_text("utf-8")):
        if language == "python":
            ast.parse(text)
        if language == "console":
            for line in text.splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True)
                if words[0] == "autograd-inspect":
                    assert parser_of().parse_args(words[1:]).command == words[1]


def test_a_tutorial_keeps_its_outputs_and_hides_its_solutions():
    """Saved outputs are shown; captures, which only the widget can draw, are not; solutions fold."""
    path = ROOT / "notebooks/00_quickstart.ipynb"
    cells = [cell for cell in json.loads(tutorial(path))["cells"] if cell["cell_type"] == "code"]
    kinds = {kind for cell in cells for output in cell["outputs"] for kind in output.get("data", {})}
    assert kinds == {"text/html", "text/plain"}
    solutions = [cell for cell in cells if "solution" in cell["metadata"].get("tags", ())]
    assert solutions
    assert all("hide-cell" in cell["metadata"]["tags"] for cell in solutions)


def test_only_what_changed_is_written_again(tmp_path):
    """A second build reads only new sources; a page that is gone is gone from the folder."""
    assert write_all(tmp_path, {"a.md": b"1", "b/c.md": b"2"}) == 2
    before = (tmp_path / "a.md").stat().st_mtime_ns
    assert write_all(tmp_path, {"a.md": b"1"}) == 1
    assert (tmp_path / "a.md").stat().st_mtime_ns == before
    assert not (tmp_path / "b/c.md").exists()


GENERATED = re.compile(
    r"(rules/\w+|reference/(magic|cli|callbacks|panel_settings|keys)|project/(changelog|contributing))\.md"
)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.relative_to(PAGES).as_posix())
def test_links_of_a_page_lead_somewhere_in_the_repository(path):
    """On a code host, too: to a file, or to a page that is written when the site is built; each has a text."""
    for text, link in re.findall(r"\[([^\]]*)\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
        assert text, link
        target = (path.parent / link).resolve()
        written = target.relative_to(PAGES).as_posix() if target.is_relative_to(PAGES) else ""
        assert link.startswith("https:") or target.exists() or GENERATED.fullmatch(written), link


def test_links_to_tutorials_lead_there_on_the_site_as_well(pages):
    """The notebooks lie beside the pages in the repository, and in a folder of the site."""
    assert "](tutorials/01_gpt_loop.ipynb)" in pages["gallery.md"]
    assert "](00_quickstart.ipynb)" in pages["tutorials/index.md"]
    assert "](../tutorials/11_reading_vitals.ipynb)" in pages["guide/vitals.md"]

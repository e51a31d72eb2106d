"""autograd-inspect show: a stored report in the browser."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from autograd_inspector import inspect_optimizer
from autograd_inspector.api.rank_parts import part_of
from autograd_inspector.api.ranks import ranks_report
from autograd_inspector.frontends.cli import show
from autograd_inspector.frontends.cli.main import main
from autograd_inspector.frontends.cli.outcome import UNABLE
from autograd_inspector.views import assets


@pytest.fixture(scope="module")
def report():
    return inspect_optimizer(torch.optim.SGD(torch.nn.Linear(2, 2).parameters()))


@pytest.fixture
def stored(report, tmp_path):
    path = tmp_path / "r.json"
    path.write_text(report.to_json())
    return path


@pytest.fixture
def opened(monkeypatch):
    """A screen, and the addresses that a browser is asked to open."""
    found = []
    monkeypatch.setattr(show, "screen", lambda: True)
    monkeypatch.setattr(show.webbrowser, "open", lambda address: found.append(address) or True)
    return found


@pytest.fixture
def built(monkeypatch):
    """A front end, where it was not built: its script's text is all that the page needs."""
    monkeypatch.setattr("autograd_inspector.views.html.page.asset", lambda name: f"/* {name} */")


def test_the_interactive_page_opens(stored, tmp_path, opened, built, capsys):
    """With --html the page is kept there; it is the interactive one, and the browser is led to it."""
    page = tmp_path / "r.html"
    assert main(["show", str(stored), "--html", str(page)]) == 0
    assert opened == [page.resolve().as_uri()]
    assert 'id="payload"' in page.read_text("utf-8")
    assert capsys.readouterr().out == f"opened {page.resolve()}\n"


def test_a_temporary_page(stored, opened, built, monkeypatch, tmp_path):
    """Without --html the page goes into a temporary file, which is left for the browser to read."""
    monkeypatch.setattr(show.tempfile, "tempdir", str(tmp_path))
    assert main(["show", str(stored)]) == 0
    (page,) = tmp_path.glob("autograd-report-*.html")
    assert opened == [page.as_uri()]
    assert "<html" in page.read_text("utf-8")


def test_without_a_screen(stored, tmp_path, built, monkeypatch, capsys):
    """No browser is started from a pipe or a machine without display: one line tells where the page is."""
    monkeypatch.setattr(show.webbrowser, "open", lambda _: pytest.fail("a browser was started"))
    page = tmp_path / "r.html"
    assert main(["show", str(stored), "--html", str(page)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert str(page.resolve()) in line
    assert line.endswith(page.resolve().as_uri())


def test_a_front_end_that_was_not_built(stored, tmp_path, opened, monkeypatch, capsys):
    """In a checkout without the front end the page is the static one, and it is said."""

    def missing(name):
        raise assets.WidgetNotBuiltError

    monkeypatch.setattr("autograd_inspector.views.html.page.asset", missing)
    assert main(["show", str(stored), "--html", str(tmp_path / "r.html")]) == 0
    assert "<html" in (tmp_path / "r.html").read_text("utf-8")
    assert capsys.readouterr().out.startswith("a static page")


def test_text(stored, report, opened, capsys):
    """--text prints the report, and so does --order; nothing is opened."""
    for option in (["--text"], ["--order", "model"], ["--text", "--order", "model"]):
        assert main(["show", str(stored), *option]) == 0
        assert capsys.readouterr().out == report.to_text() + "\n"
    assert opened == []


def test_a_report_of_ranks(report, tmp_path, opened, capsys):
    """What `merge --json` wrote opens too."""
    merged = ranks_report({0: part_of(report)})
    path, page = tmp_path / "ranks.json", tmp_path / "ranks.html"
    path.write_text(merged.to_json())
    assert main(["show", str(path), "--html", str(page)]) == 0
    assert page.read_text("utf-8") == merged.to_html()
    assert main(["show", str(path), "--text"]) == 0
    assert merged.to_text() in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b"{'a'", b"\xff\xfe", b'{"schema": 99}', b'{"schema": 1}', b"[]", None])
def test_files_that_hold_no_report(content, tmp_path, capsys):
    """Exit 2, one line that names the file: damaged, of another version, something else, not there."""
    path = tmp_path / "r.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SystemExit) as left:
        main(["show", str(path)])
    assert left.value.code == UNABLE
    usage, line = capsys.readouterr().err.split("autograd-inspect: error: ")
    assert usage.startswith("usage: ")
    assert line.startswith(f"{path}: ")
    assert line.count("\n") == 1


def test_a_page_that_cannot_be_written(stored, capsys):
    """Exit 2 with one line."""
    with pytest.raises(SystemExit) as left:
        main(["show", str(stored), "--html", "/nowhere/r.html"])
    assert left.value.code == UNABLE
    assert "cannot write /nowhere/r.html" in capsys.readouterr().err.splitlines()[-1]


def test_reading_a_report_needs_no_torch(stored):
    """`show` starts quickly: torch is not imported."""
    imported = "from autograd_inspector.frontends.cli.main import main"
    code = f"import sys; {imported}; main(sys.argv[1:]); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "show", "--text", stored], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert Path(stored).exists()


def test_nobody_reads_on():
    """`... | head` ends the reading early: no traceback, and the exit status that a shell gives for it."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "autograd_inspector", "rule", "--all"]
    done = subprocess.run(command, check=False, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.stderr, done.returncode) == (b"", 141)

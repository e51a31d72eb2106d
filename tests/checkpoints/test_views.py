"""The checkpoint's section: text, page, JSON and the terminal."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import torch
from torch import nn

from autograd_inspector import Report, inspect_checkpoint
from autograd_inspector.frontends.cli.main import main

from .programs import adam, network, saved


@pytest.fixture
def file(tmp_path):
    torch.save(saved(), tmp_path / "a.pt")
    return tmp_path / "a.pt"


def test_the_text_says_what_goes_where(file):
    """Each tensor with what becomes of it, each position with its parameter, and the lines that load it."""
    net = network()
    text = inspect_checkpoint(file, net, adam(net)).to_text()
    assert f"checkpoint: {file}" in text
    assert re.search(r"\b4 of .* 4 names", text)
    assert "to load it:" in text
    assert "weights_only=True" in text
    assert "goes to" in text


def test_missing_unexpected_and_reshaped_are_marked():
    """The table shows which tensors fit and which do not."""
    net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(6, 2))
    text = inspect_checkpoint({"model": saved()["model"]}, net).to_text()
    for mark in ("model has 8×4", "missing", "fits", "2 missing, 2 reshaped"):
        assert mark in text
    assert "to load it:" not in text


def test_the_statements_that_load_it_do(file):
    """What the text offers can be run."""
    from autograd_inspector.views.summaries.checkpoint import contents_of

    net = network()
    optimizer = adam(net)
    exec(
        "\n".join(contents_of(inspect_checkpoint(file, net, optimizer)).plan),
        {"torch": torch, "net": net, "optimizer": optimizer},
    )
    assert optimizer.state[net[0].weight]["step"] == 1


def test_many_tensors_are_folded():
    """Blocks of one kind share a row; five hundred names are no five hundred rows."""
    net = nn.ModuleList([nn.Linear(4, 4) for _ in range(250)])
    text = inspect_checkpoint({"model": net.state_dict()}, net).to_text()
    assert "{0…249}.weight  ×250" in text
    assert len(text.split("\n")) < 40


def test_the_page_has_the_section(file):
    """The same tables on the page, folded away where they are long."""
    net = network(8)
    page = inspect_checkpoint(file, net, adam(net)).to_html()
    assert "<h2>Checkpoint</h2>" in page
    assert "0.weight" in page
    assert "<summary>" in page


def test_hostile_names_reach_no_page():
    """Names of a checkpoint are text, whatever they hold."""
    name = "</script><img onerror=alert(1)>\x00\u202e" + "x" * 10000
    report = inspect_checkpoint({"model": {name: torch.ones(2)}}, nn.Linear(2, 2))
    page, text = report.to_html(), report.to_text()
    assert "<img" not in page
    for forbidden in ("\x00", "\u202e"):
        assert forbidden not in page
        assert forbidden not in text
    assert len(text) < 60_000


def test_the_json_round_trip(file):
    """A report comes back equal, checkpoint and all."""
    net = network(8)
    report = inspect_checkpoint(file, net, adam(net))
    again = Report.from_json(report.to_json())
    assert again.capture.checkpoint == report.capture.checkpoint
    assert again.findings == report.findings
    assert again.to_text() == report.to_text()


def test_the_terminal(file, capsys, tmp_path):
    """`autograd-inspect checkpoint FILE` tells what it holds; --json and --html write it."""
    assert main(["checkpoint", str(file), "--json", str(tmp_path / "a.json"), "--html", str(tmp_path / "a.html")]) == 0
    out = capsys.readouterr().out
    assert "0.weight" in out
    assert 'state["optimizer"]: state of 4 parameters' in out
    assert Report.from_json((tmp_path / "a.json").read_text()).capture.checkpoint.models
    assert (tmp_path / "a.html").stat().st_size


def test_the_terminal_refuses_in_one_line(tmp_path):
    """Bad usage is exit 125 and one line, no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "autograd_inspector.frontends.cli.main", "checkpoint", str(tmp_path / "none.pt")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 125
    assert "no such file" in done.stderr
    assert "Traceback" not in done.stderr

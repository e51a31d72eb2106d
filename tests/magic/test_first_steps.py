"""What a newcomer types first: load the extension, ask for help, see a demonstration."""

from __future__ import annotations

import subprocess
import sys

import torch

import autograd_inspector


def test_loading_prints_nothing(plain_shell):
    """`%load_ext autograd_inspector` is silent, and so is loading it once more after `%unload_ext`."""
    for line in ("%load_ext", "%unload_ext", "%load_ext", "%reload_ext"):
        ran = plain_shell.run(f"{line} autograd_inspector")
        assert ran.success
        assert (ran.out, ran.err, ran.displayed) == ("", "", [])


def test_a_question_mark_shows_an_example(shell):
    """`%autograd_inspect?` shows the usage, and a cell that could be typed."""
    page = shell.ip.object_inspect_text("%autograd_inspect")
    assert "Example, a cell whose backward fails:" in page
    assert "%%autograd_inspect --store report" in page
    assert "--fail-on" in page


def test_the_example_of_the_help_fails_and_is_explained(shell):
    """The cell in the help is a real one: the report names the line that modified a saved tensor."""
    doc = shell.ip.find_magic("autograd_inspect").__doc__
    cell = "\n".join(line[2:] for line in doc.partition("backward fails:\n\n")[2].partition("\n\n")[0].splitlines())
    shell.run("encoder, head, x = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1), torch.randn(3, 4)")
    ran = shell.run(cell)
    assert isinstance(ran.error, RuntimeError)
    first = shell["report"].findings[0]
    assert first.rule == "AG201"
    assert first.locations[0].source == "hidden.add_(1)"


def test_the_demo_shows_one_failing_cell_and_returns_its_report(shell):
    """The program and its error are printed; the report, which the cell ends with, is displayed by IPython."""
    before = torch.get_rng_state()
    ran = shell.run("import autograd_inspector\nautograd_inspector.demo()")
    assert ran.success
    assert "  7  hidden.add_(1)" in ran.out
    assert "RuntimeError: one of the variables needed for gradient computation" in ran.out
    assert [(finding.rule, finding.locations[0].lineno) for finding in ran.value.findings] == [("AG201", 7)]
    assert ran.value.findings[0].locations[0].source.startswith("hidden.add_(1)")
    assert torch.equal(before, torch.get_rng_state())


def test_the_demo_prints_its_report_outside_of_ipython():
    """In a plain Python the text of the report follows the program."""
    command = [sys.executable, "-c", "import autograd_inspector; autograd_inspector.demo()"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said.index("loss.backward()") < said.index("RuntimeError: one of") < said.index("> modified here  <demo>:7")


def test_the_demo_is_public():
    """It is among the names that the package offers."""
    assert "demo" in autograd_inspector.__all__
    assert autograd_inspector.demo.__module__ == "autograd_inspector.api.demo"

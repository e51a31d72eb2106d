"""Options of the magic, right and wrong."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from autograd_inspector import AutogradFindingsError, Report
from autograd_inspector.kernel.options import parse
from tests.shells import UNSEEN

BAD = [
    "--bogus",
    "--fail-on sometimes",
    "--store 3x",
    "--ignore XY1",
    "--model",
    "--html",
    "on",
    "loss",
    "--torchviz",
    "--html 'unbalanced",
]


@pytest.mark.parametrize("line", BAD)
def test_a_bad_header_prints_usage_and_runs_nothing(shell, line):
    """One line says what is wrong, the usage follows, the body does not run, the cell fails, no traceback."""
    ran = shell.run(f"%%autograd_inspect {line}\nran = True")
    assert "ran" not in shell
    assert not ran.success
    assert isinstance(ran.error, UsageError)
    said = (ran.out + ran.err).splitlines()
    assert said[0].startswith("UsageError: autograd_inspect: ")
    assert said[1].startswith("usage: %autograd_inspect ")
    assert "Traceback" not in ran.out + ran.err


def test_options_are_understood():
    """Every option is read; --ignore may be repeated and may hold a list; quotes around files are dropped."""
    options = parse("--model a,b.c --optimizer opt --values --ignore AG101,ag2 --ignore AG306 --html 'my file.html'")
    assert options.models == ("a", "b.c")
    assert options.optimizers == ("opt",)
    assert options.values
    assert options.ignore == ("AG101", "AG2", "AG306")
    assert options.html == "my file.html"


def test_options_do_not_stick():
    """A list of codes given once is not there the next time."""
    parse("--ignore AG101 --model net")
    assert parse("").ignore == ()
    assert parse("").models == ()


def test_store_keeps_the_report(shell):
    """--store puts the report into a variable."""
    shell.run("%%autograd_inspect --quiet --store seen\nw * 2")
    assert isinstance(shell["seen"], Report)


def test_quiet_displays_nothing_of_ours(shell):
    """--quiet leaves the cell's own output alone."""
    ran = shell.run("%%autograd_inspect --quiet\nprint('mine')")
    assert (ran.out, ran.err, ran.displayed) == ("mine\n", "", [])


def test_files_are_written(shell, tmp_path):
    """--html and --json write the report; {names} in paths are expanded like for other magics."""
    shell.ip.user_ns["folder"] = str(tmp_path)
    shell.run("%%autograd_inspect --quiet --store seen --html {folder}/r.html --json {folder}/r.json\nw * 2")
    assert "<html" in (tmp_path / "r.html").read_text()
    assert Report.from_json((tmp_path / "r.json").read_text()) == shell["seen"]


def test_files_of_one_of_several_ranks(shell, tmp_path, monkeypatch):
    """A kernel that is one of several ranks, as ipyparallel's engines are, writes files of its own."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    shell.run(f"%%autograd_inspect --quiet --html {tmp_path}/r.html --json {tmp_path}/r.json\nw * 2")
    assert sorted(path.name for path in tmp_path.glob("r*")) == ["r-rank1.html", "r-rank1.json"]


def test_a_file_that_cannot_be_written(shell, tmp_path):
    """It is one line on stderr; the cell stays well."""
    ran = shell.run(f"%%autograd_inspect --quiet --json {tmp_path}/nowhere/r.json\nw * 2")
    assert ran.success
    assert ran.err.startswith("autograd_inspector: cannot write")
    assert ran.err.count("\n") == 1


def test_fail_on_error(shell):
    """--fail-on error fails a cell that ran well but has an error finding; the exception holds it."""
    ran = shell.run(f"%%autograd_inspect --quiet --fail-on error\n{UNSEEN}")
    assert not ran.success
    assert isinstance(ran.error, AutogradFindingsError)
    assert {finding.severity for finding in ran.error.findings} == {"error"}
    assert "AG202" in str(ran.error)
    assert ran.out.strip().startswith("AutogradFindingsError: ")
    assert "Traceback" not in ran.out


def test_fail_on_leaves_healthy_cells_alone(shell):
    """A cell without such a finding passes, and so does one whose finding is ignored."""
    assert shell.run("%%autograd_inspect --quiet --fail-on warning\n(w * 2).sum().backward()").success
    assert shell.run(f"%%autograd_inspect --quiet --fail-on error --ignore AG202\n{UNSEEN}").success


def test_fail_on_does_not_hide_the_programs_error(shell):
    """A cell that raised keeps its own exception."""
    ran = shell.run(f"%%autograd_inspect --quiet --fail-on error\n{UNSEEN}\n1 / 0")
    assert isinstance(ran.error, ZeroDivisionError)


def test_named_models_and_optimizers(shell):
    """--model and --optimizer bring into the report what the cell itself does not touch, also if it makes it."""
    shell.run("net = torch.nn.Linear(2, 2)")
    report = shell.inspect("opt = torch.optim.SGD(net.parameters(), lr=1)", "--model net --optimizer opt")
    assert {row.name.split(".")[-1] for row in report.placement.rows} >= {"weight", "bias"}


def test_a_name_that_is_not_there(shell):
    """A model that exists neither before nor after the cell is one line on stderr."""
    ran = shell.run("%%autograd_inspect --quiet --model nothing\nw * 2")
    assert ran.success
    (line,) = ran.err.splitlines()
    assert line.startswith("autograd_inspector: ")
    assert "named 'nothing'" in line


@pytest.mark.parametrize("line", ["--help", "-h", "--values -h", "on --help"])
def test_help_on_top_of_a_cell(shell, line):
    """Every option is explained, one line says that the cell did not run, and nothing failed."""
    ran = shell.run(f"%%autograd_inspect {line}\nran = True")
    assert ran.success
    assert "ran" not in shell
    assert ran.out.startswith("usage: %autograd_inspect ")
    assert "--fail-on" in ran.out
    assert ran.out.splitlines()[-1] == "This cell did not run; remove --help to run it."
    assert not ran.err


@pytest.mark.parametrize(
    "cell", ["%autograd_inspect --help", "%autograd_inspect", "%%autograd_inspect -h", "\n%%autograd_inspect --help\n"]
)
def test_help_on_a_line(shell, cell):
    """The same without a cell: there is none that did not run."""
    ran = shell.run(cell)
    assert ran.success
    assert ran.out.startswith("usage: %autograd_inspect ")
    assert "did not run" not in ran.out


def test_help_switches_nothing_on(shell):
    """`on --help` only helps."""
    shell.run("%autograd_inspect on --help")
    assert not shell.run("w * 2").displayed


@pytest.mark.parametrize("asked", ["%autograd_inspect?", "%%autograd_inspect?", "?%autograd_inspect"])
def test_a_question_mark(shell, asked):
    """IPython's own help shows the forms and every option."""
    ran = shell.run(asked)
    said = ran.out + "".join(str(display) for display in ran.displayed)
    assert ran.success
    assert "on top of a cell: run it, then report" in said
    assert "--fail-on" in said

"""%autograd_inspect: usage, live objects, and every cell from now on."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from autograd_inspector import Report
from tests.shells import UNSEEN


def test_bare_magic_prints_usage(shell):
    """Without arguments it explains itself, and that is no error."""
    ran = shell.run("%autograd_inspect")
    assert ran.success
    assert ran.out.startswith("usage: %autograd_inspect")
    assert "--fail-on" in ran.out


@pytest.mark.parametrize("line", ["1 +", "w *", "--bogus w", "'text'", "--torchviz"])
def test_bad_lines_print_usage(shell, line):
    """What is no expression, or of a type that cannot be inspected, is one line and the usage."""
    ran = shell.run(f"%autograd_inspect {line}")
    assert isinstance(ran.error, UsageError)
    assert "usage: %autograd_inspect" in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err


def test_an_expression_that_raises(shell):
    """A name that does not exist is one line; what an expression raises inside is the user's own exception."""
    mistake = shell.run("%autograd_inspect nowhere").error
    assert isinstance(mistake, UsageError)
    assert "no variable is named 'nowhere'" in str(mistake)
    shell.run("def broken(): return missing")
    assert isinstance(shell.run("%autograd_inspect broken()").error, NameError)


def test_help(shell):
    """`--help` tells the options, as the bare line does."""
    assert "--fail-on" in shell.run("%autograd_inspect --help").out


def test_a_stored_report_is_shown(shell):
    """A report is shown as it is, and is the value of the line."""
    report = shell.inspect("w * 2")
    ran = shell.run("%autograd_inspect _report")
    assert ran.value == report
    shell.run("again = %autograd_inspect _report")
    assert shell["again"] == report


def test_live_objects(shell):
    """A tensor, an optimizer and a model each show their report; nothing is run for it."""
    shell.run("net = torch.nn.Linear(2, 1); opt = torch.optim.SGD(net.parameters(), lr=1); loss = net(w[:2]).sum()")
    graph = shell.run("%autograd_inspect loss * 2").value
    assert isinstance(graph, Report)
    assert graph.graph.nodes
    for line in ("opt", "opt --model net", "net", "net --optimizer opt"):
        report = shell.run(f"%autograd_inspect {line}").value
        assert len(report.placement.rows) == 2, line
    assert {row.name for row in report.placement.rows} == {"net.weight", "net.bias"}
    assert shell["net"].weight.grad is None
    shell.run("head = torch.nn.Linear(1, 1); both = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=1)")
    report = shell.run("%autograd_inspect both --model net,head").value
    assert [row.model for row in report.placement.rows] == ["net", "net", "head", "head"]


def test_quiet_lines(shell):
    """--quiet shows nothing and has no value; --store and --ignore work as on a cell."""
    ran = shell.run("%autograd_inspect --quiet --store seen --ignore AG1 w * 2")
    assert (ran.value, ran.out, ran.displayed) == (None, "", [])
    assert isinstance(shell["seen"], Report)


def test_local_names_in_a_function(shell):
    """Inside a function, the expression sees the function's own variables."""
    shell.inspect("w * 2")
    shell.run("def f(mine):\n    kept = %autograd_inspect mine\n    return kept\nkept = f(_report)")
    assert shell["kept"] == shell["_report"]


def test_on_and_off(shell):
    """From the next cell on, every cell that used torch is reported, until off; off itself is not."""
    on = shell.run("%autograd_inspect on --store seen\ny = w * 2")
    assert on.success
    assert "seen" not in shell
    assert shell.run("z = w * 3").displayed
    assert shell["seen"].capture.ops[0].name == "mul"
    assert not shell.run("text = 'no torch here'").displayed
    assert not shell.run("z = w * 3\n%autograd_inspect off").displayed
    assert not shell.run("z = w * 3").displayed


def test_on_keeps_the_cells_behaviour(shell):
    """Under `on`, values, errors and awaits are the cell's own."""
    shell.run("%autograd_inspect on --quiet")
    assert shell.run("w.sum()").value.item() == 3
    assert shell.run("w.sum();").out == ""
    assert isinstance(shell.run("w * 2\n1 / 0").error, ZeroDivisionError)
    assert shell.run("import asyncio\nawait asyncio.sleep(0, result=3)").value == 3


def test_on_fails_cells_with_findings(shell):
    """`on --fail-on error` fails each cell that deserves it."""
    shell.run("%autograd_inspect on --quiet --fail-on error")
    assert not shell.run(UNSEEN).success
    assert shell.run("w * 2").success


def test_on_numbers_its_files(shell, tmp_path):
    """Under `on` each cell has its own file."""
    shell.run(f"%autograd_inspect on --quiet --json {tmp_path}/r.json")
    shell.run("a = w * 2")
    shell.run("b = w * 3")
    assert sorted(path.name for path in tmp_path.glob("r*.json")) == ["r-3.json", "r-4.json"]


def test_a_header_under_on(shell):
    """A cell's own header has the last word on how its report is shown."""
    shell.run("%autograd_inspect on")
    assert not shell.run("%%autograd_inspect --quiet --store seen\nw * 2").displayed
    assert "seen" in shell


def test_a_capture_inside_an_inspected_cell(shell):
    """The cell runs as without us: its own capture sees the rest, and the cell's report ends there and says so."""
    ran = shell.run(
        "%%autograd_inspect --quiet --store seen\nimport autograd_inspector\ny = w * 2\n"
        "with autograd_inspector.inspect() as own:\n    y = y.exp()"
    )
    assert ran.success
    assert [op.name for op in shell["seen"].capture.ops] == ["mul"]
    assert [op.name for op in shell["own"].report.capture.ops] == ["exp"]
    assert any("inspect() block" in note for note in shell["seen"].notes)
    assert shell.run("%%autograd_inspect --quiet\nw * 2").success


def test_the_header_twice(shell):
    """One line says what to leave out; the next cell is inspected as ever."""
    ran = shell.run("%%autograd_inspect\n%%autograd_inspect\nw.exp().sum().backward()")
    assert isinstance(ran.error, UsageError)
    assert "one of the two %%autograd_inspect" in str(ran.error)
    assert shell.run("%%autograd_inspect --quiet --store seen\nw * 2").success
    assert [op.name for op in shell["seen"].capture.ops] == ["mul"]


def test_torchviz(shell):
    """--torchviz shows torchviz's picture of an expression, with the names of the notebook's model."""
    shell.run("net = torch.nn.Linear(3, 1); part = net")
    ran = shell.run("%autograd_inspect --torchviz net(w).sum()")
    assert "SumBackward0" in ran.value.source
    assert "weight" in ran.value.source


def test_torchviz_cannot_draw_everything(shell):
    """What torchviz cannot draw is one line."""
    ran = shell.run("%autograd_inspect --torchviz 'text'")
    assert isinstance(ran.error, UsageError)
    assert "torchviz draws tensors" in ran.out + ran.err

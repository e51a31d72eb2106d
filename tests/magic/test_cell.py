"""A cell under %%autograd_inspect behaves as without the header."""

from __future__ import annotations

import sys
import traceback

import pytest

CELL = "print('working')\nx = w * 2\nx.sum()"


def test_the_cell_runs_once(shell):
    """The body is executed exactly once."""
    shell.run("runs = []")
    shell.run("%%autograd_inspect --quiet\nruns.append(1)\ny = w * 2")
    assert shell["runs"] == [1]


def test_value_output_and_history(shell):
    """The last expression is displayed, is the cell's result, and lands in `_` and Out, after stdout."""
    ran = shell.run(f"%%autograd_inspect --quiet\n{CELL}")
    assert ran.value.item() == 6
    assert shell["_"] is ran.value
    assert shell["Out"][2] is ran.value
    assert ran.out.startswith("working\n")
    assert "tensor(6." in ran.out


@pytest.mark.parametrize("mode", ["all", "last", "last_expr", "none", "last_expr_or_assign"])
@pytest.mark.parametrize("cell", ["1\n2\na = 3", "1\n2", "a: int = 4\na += 1"])
def test_interactivity_is_the_users(shell, mode, cell):
    """`ast_node_interactivity` decides what is displayed, as without the header."""
    shell.ip.ast_node_interactivity = mode
    without, under = shell.run(cell), shell.run(f"%%autograd_inspect --quiet\n{cell}")
    assert [line.split(":")[-1] for line in under.out.splitlines()] == [
        line.split(":")[-1] for line in without.out.splitlines()
    ]
    assert under.value == without.value


def test_trailing_semicolon(shell):
    """A semicolon at the end keeps the value from being displayed."""
    assert shell.run("%%autograd_inspect --quiet\nw.sum();").out == ""


def test_top_level_await(shell):
    """`await` works outside functions, in the event loop that IPython uses for it."""
    ran = shell.run("%%autograd_inspect --quiet\nimport asyncio\nawait asyncio.sleep(0, result=7)")
    assert ran.success
    assert ran.value == 7


def test_one_traceback_and_the_same_exception(shell):
    """An exception is shown once, without a frame of ours, and is the very object that the program raised."""
    shell.run("error = KeyError('mine')")
    ran = shell.run("%%autograd_inspect --quiet\ny = w * 2\nraise error")
    assert not ran.success
    assert ran.error is shell["error"]
    assert ran.out.count("Traceback") == 1
    assert "autograd_inspector/" not in ran.out
    assert "line 3" in ran.out
    frames = traceback.extract_tb(ran.error.__traceback__)
    assert frames[-1].lineno == 3
    assert not any("autograd_inspector/" in frame.filename for frame in frames)


RAISES_IN_TORCH = """\
y = w.exp()
y.add_(1)
y.sum().backward()"""


def test_traceback_through_torch(shell):
    """What torch raises is shown as without the header: neither our frames nor torch's detour to us."""
    plain = shell.run(RAISES_IN_TORCH)
    ran = shell.run(f"%%autograd_inspect --quiet\n{RAISES_IN_TORCH}")
    assert [line for line in ran.out.splitlines() if line.startswith("File ")] == [
        line for line in plain.out.splitlines() if line.startswith("File ")
    ]
    assert "autograd_inspector/" not in ran.out
    assert "modified by an inplace operation" in ran.out


def test_showing_errors_is_the_shells_own_again(shell):
    """After the cell IPython shows errors by its own means, or by those that the cell has chosen."""
    shell.run("%%autograd_inspect --quiet\nw * 2\n1 / 0")
    assert "showtraceback" not in vars(shell.ip)
    chosen = "get_ipython().showtraceback = lambda *args, **kwargs: print('shown my way')"
    shell.run(f"%%autograd_inspect --quiet\nw * 2\n{chosen}")
    assert "shown my way" in shell.run("1 / 0").out
    assert "shown my way" in shell.run("%%autograd_inspect --quiet\nw * 2\n1 / 0").out
    assert "shown my way" in shell.run("1 / 0").out


def test_debugging_after_a_failure(shell):
    """`%debug` finds the program's frame: sys.last_value is the exception, its traceback ends in the cell."""
    shell.run("def broken(t):\n    inner = t * 2\n    raise ValueError('here')")
    ran = shell.run("%%autograd_inspect --quiet\nbroken(w)")
    assert sys.last_value is ran.error
    last = list(traceback.walk_tb(sys.last_traceback))[-1][0]
    assert last.f_code.co_name == "broken"
    assert "inner" in last.f_locals


def test_interrupt(shell):
    """A KeyboardInterrupt ends the cell as usual, and what ran before it is reported."""
    ran = shell.run("%%autograd_inspect --store seen\ny = w * 2\nraise KeyboardInterrupt")
    assert isinstance(ran.error, KeyboardInterrupt)
    assert [op.name for op in shell["seen"].capture.ops] == ["mul"]
    assert shell.run("%%autograd_inspect --quiet\nw * 3").success


def test_syntax_error(shell):
    """A cell that does not compile shows Python's own message, at the gutter's line, and no report."""
    ran = shell.run("\n%%autograd_inspect\nx = 1\ny = = 2")
    assert isinstance(ran.error, SyntaxError)
    assert ran.error.lineno == 4
    assert ran.displayed == []


def test_magics_and_shell_escapes_in_the_body(shell):
    """Line magics, shell escapes, assignments from them and cell magics keep working in the body."""
    ran = shell.run("%%autograd_inspect --quiet\nlisted = !echo hello\n%time y = w * 2\n!echo again\ny")
    assert ran.success
    assert list(shell["listed"]) == ["hello"]
    assert "Wall time" in ran.out
    ran = shell.run("%%autograd_inspect --quiet --store seen\n\n%%time\n\nz = w * 3\nz + 1")
    assert "Wall time" in ran.out
    assert [op.name for op in shell["seen"].capture.ops][:2] == ["mul", "add"]


@pytest.mark.parametrize("outer", ["%%time", "%%capture captured"])
def test_under_another_cell_magic(shell, outer):
    """Under another cell magic the body is inspected too, runs once, and fails as it should."""
    shell.run("runs = []")
    ran = shell.run(f"{outer}\n%%autograd_inspect --quiet --store seen\nruns.append(1)\nz = w * 3\nz")
    assert ran.success
    assert shell["runs"] == [1]
    assert shell["seen"].capture.ops[0].name == "mul"
    assert shell["seen"].capture.site(shell["seen"].capture.ops[0].site)[0].lineno == 4


def test_called_by_a_program(shell):
    """`run_cell_magic` runs the body once, displays its value, and lets its exception pass."""
    shell.run("runs = []")
    ran = shell.run(
        "get_ipython().run_cell_magic('autograd_inspect', '--quiet --store seen', 'runs.append(1)\\nw * 2')"
    )
    assert shell["runs"] == [1]
    assert "Out[3]" in ran.out
    assert len(shell["seen"].capture.ops) >= 1
    with pytest.raises(ZeroDivisionError):
        shell.ip.run_cell_magic("autograd_inspect", "--quiet", "1 / 0")


def test_the_users_ast_transformers_apply(shell):
    """AST transformers of the user see the cell's body and nothing else."""
    import ast

    seen = []

    class Doubler(ast.NodeTransformer):
        def visit_Constant(self, node):
            seen.append(node.value)
            return ast.copy_location(ast.Constant(node.value * 2), node) if isinstance(node.value, int) else node

    doubler = Doubler()
    shell.ip.ast_transformers.append(doubler)
    try:
        assert shell.run("%%autograd_inspect --quiet\n21").value == 42
    finally:
        shell.ip.ast_transformers.remove(doubler)
    assert seen == [21]


def test_future_imports_stay(shell):
    """`from __future__` in the cell acts on it and on later cells."""
    shell.run("%%autograd_inspect --quiet\nfrom __future__ import annotations\ndef f(x: nowhere): return x")
    assert shell["f"].__annotations__ == {"x": "nowhere"}


def test_source_of_functions_made_in_the_cell(shell):
    """`inspect.getsource` reads a function of an inspected cell."""
    import inspect

    shell.run("\n%%autograd_inspect --quiet\n\ndef f(x):\n    return x * 2")
    assert inspect.getsource(shell["f"]) == "def f(x):\n    return x * 2\n"
    assert shell["f"].__code__.co_firstlineno == 4


def test_indented_cells_are_dedented(shell):
    """A body indented as a whole runs, as IPython runs it without the header."""
    assert shell.run("%%autograd_inspect --quiet\n    x = 1\n    x + 1").value == 2
    assert shell.run("\n    %%autograd_inspect --quiet\n    x = 1\n    x + 2").value == 3


def test_report_follows_the_output(shell, monkeypatch):
    """The report comes after the cell's value, and before the traceback of one that failed: the reason comes first."""
    events = []
    monkeypatch.setattr("autograd_inspector.frontends.notebook.outcome.show", lambda report: events.append("report"))
    monkeypatch.setattr(shell.ip, "showtraceback", lambda *args, **kwargs: events.append("traceback"))
    shell.ip.user_ns["said"] = events.append
    shell.run("%%autograd_inspect\nsaid('cell')\nw * 2")
    shell.run("%%autograd_inspect\nw * 2\n1 / 0")
    assert events == ["cell", "report", "report", "traceback"]


NESTED = """%%autograd_inspect --quiet --store seen
w * 2
get_ipython().run_cell("1 / 0")
try:
    1 / 0
except ZeroDivisionError:
    get_ipython().showtraceback()
w.exp()"""


def test_errors_that_the_program_shows_end_nothing(shell):
    """A cell that the program runs may fail, and the program may show an error: its own cell goes on, inspected."""
    ran = shell.run(NESTED)
    assert ran.success
    assert ran.out.count("ZeroDivisionError") >= 2
    assert [op.name for op in shell["seen"].capture.ops] == ["mul", "exp"]


def test_report_is_displayed_with_its_text(shell):
    """What is displayed carries the whole report as plain text."""
    ran = shell.run("%%autograd_inspect --store seen\ny = w * 2")
    assert ran.displayed[-1]["text/plain"] == shell["seen"].to_text()


def test_typing_in_a_terminal(shell):
    """In a terminal, a cell under the header is complete at a blank line, not at its first line."""
    assert shell.ip.check_complete("%%autograd_inspect")[0] == "incomplete"
    assert shell.ip.check_complete("%%autograd_inspect\nx = 1\n\n")[0] == "complete"


def test_the_inspectors_own_failure(shell, monkeypatch):
    """When the report cannot be made, the cell's result stands and one line says so."""
    monkeypatch.delenv("AUTOGRAD_INSPECTOR_STRICT")
    monkeypatch.setattr("autograd_inspector.frontends.notebook.run.report_of", lambda *args, **kwargs: 1 / 0)
    ran = shell.run("%%autograd_inspect\nw * 2")
    assert ran.success
    assert ran.value.tolist() == [2, 2, 2]
    assert len(ran.err.strip().splitlines()) == 1
    assert "ZeroDivisionError" in ran.err
    assert "Traceback" not in ran.out + ran.err


def test_unloading_takes_everything_away(plain_shell):
    """After `%unload_ext` the shell has the transformers, events and magics that it had before."""
    ip = plain_shell.ip

    def state():
        return (
            list(ip.input_transformers_cleanup),
            {event: list(found) for event, found in ip.events.callbacks.items()},
            "autograd_inspect" in ip.magics_manager.magics["cell"],
        )

    before = state()
    ip.run_line_magic("load_ext", "autograd_inspector")
    assert state() != before
    ip.run_line_magic("unload_ext", "autograd_inspector")
    assert state() == before


def test_nothing_is_kept_alive(shell):
    """While the report lives, tensors and models of an inspected cell die as soon as the program drops them."""
    import gc
    import weakref

    shell.run("%%autograd_inspect --store seen\nnet = torch.nn.Linear(3, 1)\nloss = net(w).sum()\nloss.backward()")
    held = [weakref.ref(shell[name]) for name in ("net", "loss")]
    gc.disable()
    try:
        shell.run("del net, loss")
        assert [ref() for ref in held] == [None, None]
    finally:
        gc.enable()


def test_unloading_in_an_inspected_cell(shell):
    """`%unload_ext` inside an inspected cell closes its capture."""
    from autograd_inspector.capture.session import current

    assert shell.run("%%autograd_inspect --quiet\nx = w * 2\n%unload_ext autograd_inspector").success
    assert current() is None

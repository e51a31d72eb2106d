"""Lines and cells are those that the notebook shows."""

from __future__ import annotations

from autograd_inspector.model.location import Location


def lines(report, name) -> list[tuple[str | None, int]]:
    """The user's frames of the first op of that name, innermost first, as (cell, line)."""
    return [(place.cell, place.lineno) for place in frames(report, name)]


def frames(report, name) -> tuple[Location, ...]:
    capture = report.capture
    return capture.site(next(op for op in capture.ops if op.name == name).site)


def seen(shell, cell):
    shell.run(cell)
    return shell["seen"]


def test_header_and_blank_lines_count(shell):
    """Blank lines above the header, the header itself and blank lines below it all count."""
    report = seen(shell, "\n\n%%autograd_inspect --quiet --store seen\n\n# a comment\ny = w * 2")
    assert lines(report, "mul") == [("In [2]", 6)]
    assert frames(report, "mul")[0].source == "y = w * 2"


def test_tracebacks_agree(shell):
    """IPython's own traceback names the same line."""
    ran = shell.run("\n\n%%autograd_inspect --quiet\n\nw.exp()\n1 / 0")
    assert "line 6" in ran.out
    ran = shell.run("\n\n\n1 / 0")
    assert "line 4" in ran.out


def test_blank_lines_without_header(shell):
    """Under `on`, leading blank lines count as well."""
    shell.run("%autograd_inspect on --quiet --store seen")
    assert lines(seen(shell, "\n\n\ny = w * 2"), "mul") == [("In [3]", 4)]


def test_functions_from_earlier_cells(shell):
    """A line in a function points into the cell that defined it; its caller into the cell that ran."""
    shell.run("\n\ndef double(x):\n    # comment\n    return x * 2")
    report = shell.inspect("\ndouble(w)")
    assert lines(report, "mul") == [("In [2]", 5), ("In [3]", 3)]
    assert frames(report, "mul")[0].function == "double"


def test_cells_from_before_the_extension(plain_shell):
    """Cells that ran before `%load_ext` count their leading blank lines too, which IPython then dropped."""
    plain_shell.run("\n\nimport torch\nw = torch.ones(3, requires_grad=True)\ndef double(x):\n    return x * 2")
    plain_shell.run("%load_ext autograd_inspector")
    assert lines(plain_shell.inspect("double(w)"), "mul") == [("In [1]", 6), ("In [3]", 2)]


def test_a_cell_that_was_run_again(shell):
    """A function is located in the cell run that defined it last."""
    for _ in range(2):
        shell.run("def double(x):\n    return x * 2")
    assert lines(shell.inspect("double(w)"), "mul")[0] == ("In [3]", 2)


def test_multi_line_statements(shell):
    """An expression over several lines points to its own line, not to the statement's first or last."""
    report = shell.inspect("y = (\n    w.exp()\n    .sin()\n    .mul(2)\n)")
    assert lines(report, "exp") == [("In [2]", 3)]
    assert frames(report, "sin")[0].end_lineno == 4
    assert frames(report, "mul")[0].end_lineno == 5


def test_lambdas_comprehensions_and_nested_functions(shell):
    """Lambdas, comprehensions, closures, methods and decorated functions point to the line with the op."""
    report = shell.inspect(
        "f = [\n"
        "    lambda x: x,\n"
        "    lambda x: x.exp(),\n"
        "]\n"
        "class Net:\n"
        "    @torch.no_grad()\n"
        "    def call(self, x):\n"
        "        def inner():\n"
        "            return x.sin()\n"
        "        return inner()\n"
        "out = [f[1](w) for _ in range(1)]\n"
        "Net().call(w)"
    )
    assert lines(report, "exp")[0] == ("In [2]", 4)
    assert frames(report, "exp")[0].function == "<lambda>"
    assert ("In [2]", 12) in lines(report, "exp")
    assert lines(report, "sin") == [("In [2]", 10), ("In [2]", 11), ("In [2]", 13)]


def test_imported_modules(shell, tmp_path):
    """A line in an imported file is that file's, with its text; the cell is its caller."""
    (tmp_path / "located_helper.py").write_text("def double(x):\n\n    return x * 2\n")
    shell.run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import located_helper")
    report = shell.inspect("located_helper.double(w)")
    inner = frames(report, "mul")[0]
    assert (inner.filename, inner.lineno, inner.cell) == (str(tmp_path / "located_helper.py"), 3, None)
    assert inner.source == "return x * 2"
    assert lines(report, "mul")[1] == ("In [3]", 2)


def test_run_scripts(shell, tmp_path):
    """Under `%run`, the script's lines are the script's; functions that it leaves behind too."""
    script = tmp_path / "ran.py"
    script.write_text("import torch\nv = torch.ones(2, requires_grad=True)\ndef f(x):\n    return x.exp()\ny = f(v)\n")
    report = shell.inspect(f"%run {script}")
    assert [(place.filename, place.lineno) for place in frames(report, "exp")[:2]] == [
        (str(script), 4),
        (str(script), 5),
    ]
    report = shell.inspect("f(w)")
    assert (frames(report, "exp")[0].filename, frames(report, "exp")[0].lineno) == (str(script), 4)
    assert lines(report, "exp")[1] == ("In [3]", 2)


def test_line_magics(shell):
    """The line of `%time` is the line of the cell, as typed."""
    report = shell.inspect("x = 1\n%time y = w.exp()")
    user = next(place for place in frames(report, "exp") if not place.library)
    assert (user.cell, user.lineno, user.source) == ("In [2]", 3, "%time y = w.exp()")


def test_cell_magics_in_the_body(shell):
    """Lines under `%%time` are the gutter's, with their text and variable."""
    report = seen(shell, "\n%%autograd_inspect --quiet --store seen\n\n%%time\n\ny = w.exp()\nz = y.sin()")
    place = frames(report, "sin")[0]
    assert (place.cell, place.lineno, place.source, place.target) == ("In [2]", 7, "z = y.sin()", "z")


def test_under_other_cell_magics(shell):
    """Under `%%capture` the lines and the number are those of the cell in the editor."""
    shell.run("%autograd_inspect on --quiet --store seen")
    report = seen(shell, "\n%%capture\n\ny = w.exp()")
    assert lines(report, "exp")[0] == ("In [3]", 4)


def test_the_program_around_the_shell_is_not_shown(shell):
    """Frames outside the cell (the kernel, or this test) are no part of the program."""
    report = shell.inspect("def f():\n    return w.exp()\nf()")
    assert lines(report, "exp") == [("In [2]", 3), ("In [2]", 4)]


def test_cells_run_by_a_program_without_history(shell):
    """Cells run without history have right lines as well."""
    shell.ip.run_cell("\n\ndef f(x):\n    return x.exp()")
    shell.ip.run_cell("\n%%autograd_inspect --quiet --store seen\n\nf(w)")
    assert [line for _, line in lines(shell["seen"], "exp")] == [4, 4]


def test_after_a_magic_over_several_lines(shell):
    """IPython joins the lines of a long shell escape; the lines below keep the gutter's numbers."""
    report = shell.inspect("listed = !echo one \\\n  two \\\n  three\ny = w.exp()")
    assert lines(report, "exp") == [("In [2]", 5)]


def test_repeated_lines(shell):
    """Lines with the same text are told apart."""
    shell.run("\n\ndef f(x):\n    x = x * 2\n\n    x = x * 2\n\n    x = x.exp()\n    return x")
    report = shell.inspect("f(w)")
    assert [report.capture.site(op.site)[0].lineno for op in report.capture.ops] == [4, 6, 8]

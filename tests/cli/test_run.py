"""autograd-inspect run: scripts and notebooks in a terminal."""

from __future__ import annotations

import subprocess
import sys

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook
from torch import nn

from autograd_inspector import Report, inspect_optimizer
from autograd_inspector.frontends.cli.main import main
from autograd_inspector.frontends.cli.outcome import FINDINGS, UNABLE
from tests.forked import INSPECTOR, python
from tests.shells import UNSEEN

pytestmark = pytest.mark.usefixtures("quick_kernels")

MAKE = "import torch\nw = torch.ones(3, requires_grad=True)\n"
HEALTHY = f"{MAKE}(w * 2).sum().backward()\n"


def command(*arguments, cwd=None):
    return subprocess.run(
        [*python(INSPECTOR), "-m", "autograd_inspector.frontends.cli.main", *map(str, arguments)],
        capture_output=True, text=True, check=False, cwd=cwd,
    )  # fmt: skip


def test_a_healthy_script(script):
    """Exit 0; stdout has the script's own output alone, stderr the report and a last line that says how it ended."""
    done = command("run", script(HEALTHY + "print('done')"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
    assert done.stderr.startswith("autograd inspector: no findings")
    assert done.stderr.endswith("\n\nautograd-inspect: exit=ok (0)\n")


def test_quiet(script):
    """Nothing of ours, files that were written included, where nothing failed."""
    path = script(HEALTHY)
    done = command("run", "--quiet", "--json", path.with_suffix(".json"), path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_error_finding(script):
    """Exit 121 when a script runs well but has an error finding; --ignore lifts that."""
    path = script(MAKE + UNSEEN)
    done = command("run", path)
    assert done.returncode == FINDINGS
    assert "error AG202" in done.stderr
    assert "train.py" in done.stderr
    assert not done.stdout
    assert command("run", "--ignore", "AG202", path).returncode == 0


def test_the_script_is_main(script, tmp_path):
    """It runs as __main__ with its own arguments, options among them, and imports its neighbours."""
    (tmp_path / "neighbour.py").write_text("NAME = 'next door'")
    path = script(
        "import sys, neighbour, pickle\n"
        "class Here: pass\n"
        "if __name__ == '__main__':\n"
        "    print(sys.argv, neighbour.NAME, type(pickle.loads(pickle.dumps(Here()))).__name__, __file__)"
    )
    done = command("run", "--quiet", path, "a", "--values", "-x", cwd="/")
    assert done.stdout == f"{[str(path), 'a', '--values', '-x']} next door Here {path}\n"


def test_a_script_that_raises(script):
    """Exit 1; its traceback once, from its own first line, as Python prints it."""
    path = script(MAKE + "def f():\n    1 / 0\nf()")
    plain = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    done = command("run", "--quiet", path)
    assert done.returncode == 1
    assert done.stderr == plain.stderr


@pytest.mark.parametrize(
    ("leave", "status"),
    [("sys.exit()", 0), ("sys.exit(3)", 3), ("sys.exit(-1)", 255), ("sys.exit(256)", 0), ("sys.exit('bye')", 1)],
)
def test_exit_codes(script, capsys, leave, status):
    """sys.exit() keeps its status, and a text goes to stderr."""
    assert main(["run", "--quiet", str(script(f"import sys\n{leave}"))]) == status
    assert capsys.readouterr().err == ("bye\n" if "bye" in leave else "")


def test_a_script_that_does_not_compile(script, capsys):
    """Exit 1 with Python's own message."""
    assert main(["run", str(script("x = = 1"))]) == 1
    said = capsys.readouterr().err
    assert "SyntaxError" in said
    assert "autograd_inspector" not in said


def test_the_interpreter_is_left_as_it_was(script):
    """After a script, sys.argv, sys.path and __main__ are as before."""
    before = list(sys.argv), list(sys.path), sys.modules["__main__"]
    main(["run", "--quiet", str(script("x = 1")), "argument"])
    assert (list(sys.argv), list(sys.path), sys.modules["__main__"]) == before


def test_files(script, tmp_path):
    """--html and --json write the report; `show --text` prints a stored one as the run did."""
    html, json = tmp_path / "r.html", tmp_path / "r.json"
    done = command("run", "--html", html, "--json", json, script(MAKE + UNSEEN))
    assert "<html" in html.read_text()
    report = Report.from_json(json.read_text())
    assert report.findings
    shown = command("show", "--text", json)
    assert shown.returncode == 0
    report, last = done.stderr.split("autograd-inspect: wrote ", 1)
    assert shown.stdout == report
    assert last.splitlines()[-1].startswith(
        "autograd-inspect: exit=findings (121): 1 finding: AG202 unseen-edit (train.py:"
    )


def test_show_orders_the_placement_table(tmp_path, capsys):
    """`show --order bytes` begins with what takes most memory, `show` with what the model has first."""
    net = nn.ModuleDict({"small": nn.Linear(2, 2, bias=False), "large": nn.Linear(64, 64, bias=False)})
    path = tmp_path / "r.json"
    path.write_text(inspect_optimizer(torch.optim.SGD(net.parameters()), net).to_json())
    for order, first, second in (("model", "small.weight", "large.weight"), ("bytes", "large.weight", "small.weight")):
        assert main(["show", str(path), "--order", order]) == 0
        shown = capsys.readouterr().out
        assert shown.index(first) < shown.index(second)


@pytest.mark.parametrize(
    "arguments",
    [(), ("run",), ("run", "nowhere.py"), ("rule",), ("rule", "AG999"), ("rule", "AG201", "--all"),
     ("show", "nowhere.json"), ("run", "--fail-on", "sometimes", "x.py"), ("bogus",), ("run", "--ignore", "X", "x.py")],
)  # fmt: skip
def test_bad_usage(arguments, tmp_path, monkeypatch, capsys):
    """Exit 125, which no program's sys.exit(2) can be taken for, with usage and one line on stderr."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    said = capsys.readouterr().err
    assert left.value.code == UNABLE
    assert said.startswith("usage: autograd-inspect")
    assert said.splitlines()[-1].startswith("autograd-inspect")


def test_files_that_are_something_else(tmp_path, capsys):
    """A report that is none and a notebook that is none are bad usage: one line, no traceback."""
    (tmp_path / "r.json").write_text("{'a'")
    (tmp_path / "r.ipynb").write_text("{")
    for arguments in (["show", str(tmp_path / "r.json")], ["run", str(tmp_path / "r.ipynb")]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == UNABLE
        assert arguments[1] in capsys.readouterr().err.splitlines()[-1]


def test_run_as_a_module(script):
    """`python -m autograd_inspector` is the same command, for where no script folder is on the path."""
    path = script(f"{MAKE}{UNSEEN}\n")
    ran = subprocess.run(
        [sys.executable, "-m", "autograd_inspector", "run", str(path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == FINDINGS
    assert "AG202" in ran.stderr


def test_rules(capsys):
    """`rule CODE` prints the rule's page, in any case of letters; `--all` prints all."""
    assert main(["rule", "ag201"]) == 0
    one = capsys.readouterr().out
    assert one.startswith("AG201 saved-tensor-modified\n")
    assert main(["rule", "--all"]) == 0
    every = capsys.readouterr().out
    assert one.strip() in every
    assert "AG101" in every


@pytest.fixture
def notebook(tmp_path):
    def write(*cells):
        path = tmp_path / "book.ipynb"
        nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), path)
        return path

    return write


def test_a_healthy_notebook(notebook):
    """Exit 0; the cells' outputs, and on stderr a report on each cell that used torch, under the cell's number."""
    done = command("run", notebook(MAKE + "print('made')", "text = 1", "(w * 2).sum()"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "made\ntensor(6., grad_fn=<SumBackward0>)\n"
    assert "--- In [3]\n" in done.stderr
    assert "--- In [2]\n" not in done.stderr


def test_findings_in_a_notebook(notebook, tmp_path):
    """Exit 121 for an error finding, also in a cell with a header of its own; files are numbered by cell."""
    path = notebook(MAKE, "%%autograd_inspect --quiet\n" + UNSEEN)
    done = command("run", "--json", tmp_path / "r.json", path)
    assert done.returncode == FINDINGS
    assert "AG202" in done.stderr
    assert Report.from_json((tmp_path / "r-2.json").read_text()).findings


def test_a_failing_notebook(notebook):
    """Exit 1; the failing cell's traceback once; later cells do not run."""
    done = command("run", "--quiet", notebook(MAKE, "y = w * 2\n1 / 0", "print('later')"))
    assert done.returncode == 1
    assert done.stderr.count("ZeroDivisionError: ") == 1
    assert "later" not in done.stdout


def test_without_nbclient(notebook, monkeypatch, capsys):
    """Where nbclient is missing, one line says what to install."""
    monkeypatch.setitem(sys.modules, "nbclient", None)
    with pytest.raises(SystemExit) as left:
        main(["run", str(notebook("1"))])
    assert left.value.code == UNABLE
    assert "pip install nbclient ipykernel" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "."], ". is a folder"),
        (["run", "report.json"], "autograd-inspect show report.json"),
        (["run", "model.pt"], "autograd-inspect checkpoint model.pt"),
        (["run", "-m", "train.py"], "did you mean -m train?"),
        (["run"], "required: program"),
        (["run", "--ignore", "AG999", "train.py"], "'AG999'; `autograd-inspect rule --all`"),
        (["run", "--html", "nowhere/r.html", "train.py"], "no folder nowhere"),
        (["run", "--sarif", ".", "train.py"], "cannot write .: "),
        (["show", "model.pt"], "model.pt: not a report "),
    ],
)
def test_what_cannot_work_is_told_before_anything_runs(tmp_path, monkeypatch, capsys, arguments, said):
    """Exit 125, and a last line that says what is wrong and what to write instead."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("raise AssertionError('it ran')\n")
    for name in ("report.json", "model.pt"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == UNABLE
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_rules_by_name(tmp_path, capsys):
    """What a report prints beside the code can be given wherever a code can; --version says which one this is."""
    script = tmp_path / "train.py"
    script.write_text(f"import torch\nw = torch.ones(3, requires_grad=True)\n{UNSEEN}\n")
    assert main(["run", "--quiet", "--ignore", "unseen-edit", str(script)]) == 0
    assert main(["run", "--quiet", str(script)]) == FINDINGS
    assert "1 finding: AG202 unseen-edit (train.py:" in capsys.readouterr().err
    assert main(["rule", "unseen-edit"]) == 0
    assert capsys.readouterr().out.startswith("AG202 unseen-edit\n")
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out.rstrip().endswith(("records in C", "records in Python (not compiled)"))

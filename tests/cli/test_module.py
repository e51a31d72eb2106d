"""autograd-inspect run -m: modules, as python -m runs them."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch  # noqa: F401 - loaded once, not in each test

from autograd_inspector.frontends.cli.main import main
from autograd_inspector.frontends.cli.outcome import FINDINGS, UNABLE
from tests.shells import UNSEEN

TELLS = (
    "import pickle, sys\nclass Here: pass\n"
    "print(__name__, __package__, __spec__.name, __file__, sys.argv[1:], sys.argv[0] == __file__,"
    " sys.path[0], type(pickle.loads(pickle.dumps(Here()))).__module__)\n"
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package in the working directory, forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "a_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == "a_package"]:
        del sys.modules[name]


def python_m(*arguments):
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["a_package.step", "a_package"])
def test_a_module_is_main(package, capsys, name):
    """Name, package, spec, file, arguments and import path are those of `python -m`; a package runs its __main__."""
    file = package / ("step.py" if "." in name else "__main__.py")
    file.write_text(TELLS)
    plain = python_m(name, "x", "--values")
    before = list(sys.argv), list(sys.path), sys.modules["__main__"]
    assert main(["run", "--quiet", "-m", name, "x", "--values"]) == 0
    assert capsys.readouterr().out == plain.stdout
    assert plain.stdout
    assert (list(sys.argv), list(sys.path), sys.modules["__main__"]) == before


def test_findings_in_a_module(package, capsys):
    """Exit 121 for an error finding, with the module's line."""
    (package / "step.py").write_text(f"import torch\nw = torch.ones(3, requires_grad=True)\n{UNSEEN}\n")
    assert main(["run", "-m", "a_package.step"]) == FINDINGS
    said = capsys.readouterr().err
    assert "AG202" in said
    assert "step.py:4" in said


def test_a_module_that_raises(package, capsys):
    """Exit 1; the traceback begins with the module's own frame."""
    (package / "step.py").write_text("1 / 0\n")
    assert main(["run", "--quiet", "-m", "a_package.step"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == ["Traceback (most recent call last):", f'  File "{package / "step.py"}", line 1, in <module>']
    assert said[-1] == "ZeroDivisionError: division by zero"


def test_a_package_that_fails_to_import(package, capsys):
    """Exit 1: a program that fails before its module begins has failed, and its traceback is its own."""
    (package / "__init__.py").write_text("import not_there_at_all\n")
    (package / "step.py").write_text("")
    assert main(["run", "-m", "a_package.step"]) == 1
    said = capsys.readouterr().err
    assert "No module named 'not_there_at_all'" in said
    assert str(package / "__init__.py") in said
    assert "autograd_inspector" not in said


@pytest.mark.parametrize("name", ["not_there_at_all", "a_package.not_there", "a_package", ".step", "sys", "__main__"])
def test_modules_that_cannot_be_run(package, capsys, name):
    """Exit 125 with one line: no such module, a package without __main__, a relative name, a module without code."""
    with pytest.raises(SystemExit) as left:
        main(["run", "-m", name])
    assert left.value.code == UNABLE
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert name in said.splitlines()[-1]

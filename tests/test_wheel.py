"""What a user installs: one wheel, with everything built, which JupyterLab finds by itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTENSION = "share/jupyter/labextensions/autograd-inspector"


PROGRAM = """\
import torch

hidden = torch.sigmoid(torch.ones(3, requires_grad=True))
hidden.add_(1)
hidden.sum().backward()
"""


def run(*command: object, status: int = 0, **options) -> str:
    words = [str(part) for part in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **{"cwd": ROOT} | options)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from this checkout, whose front end is built."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """Built from this checkout as well."""
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder)
    [built] = folder.glob("*.tar.gz")
    return built


def test_the_wheel_has_all_that_is_built_and_nothing_else(wheel):
    """The widget, the typed package, and the extension where JupyterLab looks; no test, no source of the front end."""
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in ("static/widget.js", "static/page.js", "static/style.css", "py.typed"):
        assert f"autograd_inspector/{wanted}" in names
    shared = [name.partition(f"/{EXTENSION}/")[2] for name in names if EXTENSION in name]
    assert {"package.json", "install.json", "schemas/autograd-inspector/plugin.json"} <= set(shared)
    assert any(name.startswith("static/remoteEntry") for name in shared)
    assert len(names) == len(set(names))
    roots = {name.partition("/")[0] for name in names}
    assert {root for root in roots if not root.startswith("autograd_inspector")} == set()
    assert [name for name in names if name.endswith((".ts", ".map")) or "/tests/" in name] == []


def test_a_wheel_with_what_is_compiled_is_for_one_python(wheel):
    """Where there is a compiler, the file is in it and its tag has the platform; where there is none, it fits all."""
    compiled = [name for name in zipfile.ZipFile(wheel).namelist() if "/_native." in name and not name.endswith(".pyi")]
    if shutil.which("cc") is None:
        assert compiled == []
    assert wheel.name.endswith("-py3-none-any.whl") == (not compiled)
    if compiled:
        [name] = compiled
        assert name.endswith(sysconfig.get_config_var("EXT_SUFFIX"))
        assert f"-cp{sys.version_info.major}{sys.version_info.minor}-" in wheel.name


def test_a_wheel_without_a_compiler_is_for_every_python(tmp_path):
    """The build goes on, and says so in one line. What was compiled for an earlier one is not in it."""
    shutil.copytree(ROOT, tmp_path / "source", ignore=_unneeded)
    said = run(
        *(sys.executable, "-m", "pip", "wheel", tmp_path / "source", "--no-deps", "--no-build-isolation", "-v"),
        *("--wheel-dir", tmp_path),
        env={**os.environ, "CC": "false"},
    )
    [built] = tmp_path.glob("*.whl")
    assert built.name.endswith("-py3-none-any.whl")
    assert [name for name in zipfile.ZipFile(built).namelist() if name.endswith((".so", ".pyd", ".c"))] == []
    assert said.count("recording stays in Python: false failed") == 1


def _unneeded(_folder, names):
    return {name for name in names if name in {".git", ".venv", "node_modules", "build", "tests", "notebooks"}}


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A fresh environment with the wheel in it: its folder of programs.

    What the wheel needs is that of the tests: installing it again would only take time.
    """
    home = tmp_path_factory.mktemp("venv")
    venv.create(home)
    programs = home / ("Scripts" if sys.platform == "win32" else "bin")
    run(sys.executable, "-m", "pip", "--python", programs / "python", "install", "--no-index", "--no-deps", wheel)
    site = next(home.rglob("site-packages"))
    (site / "requirements-of-the-tests.pth").write_text(sysconfig.get_path("purelib"))
    return programs


@pytest.fixture
def bare(installed, tmp_path):
    """How a program is run there: no Node.js on the path, nothing of this checkout."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "SYSTEMROOT") if name in os.environ}
    return {"cwd": tmp_path, "env": kept | {"PATH": str(installed), "IPYTHONDIR": str(tmp_path / "ipython")}}


def test_jupyterlab_finds_the_extension_in_an_empty_environment(installed):
    """`jupyter labextension list` says enabled and OK after nothing but an install of the wheel."""
    listed = run(installed / "python", "-m", "jupyterlab.labextensions", "list")
    own = listed.partition(str(installed.parent / "share"))[2]
    [line] = [line for line in own.splitlines() if "autograd-inspector" in line]
    assert "enabled" in line
    assert "OK" in line


def test_the_installed_package_works_without_node(installed, bare):
    """It is the installed one that is imported; the extension loads silently, and the widget's code is there."""
    program = (
        "%load_ext autograd_inspector\n"
        "import autograd_inspector\n"
        "from autograd_inspector.views.assets import asset\n"
        "assert len(asset('widget.js')) > 10_000\n"
        "print('at', autograd_inspector.__file__)"
    )
    said = run(installed / "python", "-m", "IPython", "--no-banner", "--colors=nocolor", "-c", program, **bare)
    assert said.startswith(f"at {installed.parent}")
    assert said.count("\n") == 1


def test_the_installed_command_runs(installed, bare):
    """`autograd-inspect run` names the line, with the status for findings."""
    (bare["cwd"] / "train.py").write_text(PROGRAM)
    said = run(installed / "autograd-inspect", "run", "train.py", status=121, **bare)
    assert "> modified here  train.py:4  hidden.add_(1)" in said


def test_what_is_published_passes_the_checks_of_others(wheel, sdist):
    """twine renders the description of both, check-wheel-contents finds nothing superfluous in the wheel."""
    assert run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", wheel, sdist).count("PASSED") == 2
    run(sys.executable, "-m", "check_wheel_contents", wheel)


def test_the_sdist_builds_and_documents_itself(sdist):
    """What builds the wheel, the tests and the site is in it, the built front end as well; no cache, no modules."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Makefile",
        "constraints.txt",
        "scripts/native_hook.py",
        "autograd_inspector/capture/native/_native.c",
        "autograd_inspector/capture/native/native.h",
        "autograd_inspector/capture/native/saved.c",
        "autograd_inspector/capture/native/walk.c",
        "autograd_inspector/capture/native/walk.h",
        "autograd_inspector/static/widget.js",
        "autograd_inspector/labextension/package.json",
        "labextension/package.json",
        "notebooks/docs/conf.py",
        "notebooks/pictures/gpt-loop.png",
        "scripts/docs/__main__.py",
        "tests/test_wheel.py",
    }
    assert wanted - names == set()
    superfluous = ("node_modules/", "__pycache__", "/_native.cpython")
    assert [name for name in names if any(part in name for part in superfluous) or name.startswith("build/")] == []


def metadata(wheel):
    """What the wheel tells an index about itself: the fields and, below them, the description."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return archive.read(name).decode()


def test_no_link_of_the_description_leads_nowhere(wheel):
    """An index shows the README without the repository around it: what is not absolute is text there."""
    fields, _, description = metadata(wheel).partition("\n\n")
    assert "Description-Content-Type: text/markdown" in fields
    assert description.startswith((ROOT / "README.md").read_text("utf-8")[:400])
    assert "[options" not in description
    assert [target for target in re.findall(r"\]\(([^)]*)\)", description) if not target.startswith("https://")] == []


def test_every_python_that_is_supported_is_named(wheel):
    """A classifier for each version from the first, as the index shows them."""
    lines = metadata(wheel).splitlines()
    assert "Requires-Python: >=3.11" in lines
    for minor in (11, 12, 13, 14):
        assert f"Classifier: Programming Language :: Python :: 3.{minor}" in lines

"""What a user installs: one wheel, with everything built, which JupyterLab finds by itself."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTENSION = "share/jupyter/labextensions/autograd-inspector"


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from this checkout, whose front end is built."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    [built] = folder.glob("*.whl")
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


def test_jupyterlab_finds_the_extension_in_an_empty_environment(wheel, tmp_path):
    """`jupyter labextension list` says enabled and OK after nothing but an install of the wheel."""
    home = tmp_path / "venv"
    venv.create(home)
    python = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel)
    # JupyterLab itself is the one of the tests: installing it again would only take time.
    site = next(home.rglob("site-packages"))
    (site / "jupyterlab-of-the-tests.pth").write_text(sysconfig.get_path("purelib"))
    listed = run(python, "-m", "jupyterlab.labextensions", "list")
    own = listed.partition(str(home / "share"))[2]
    [line] = [line for line in own.splitlines() if "autograd-inspector" in line]
    assert "enabled" in line
    assert "OK" in line

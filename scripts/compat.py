"""Run a core of the tests on other Pythons, torches and Jupyters, and print a table: `python scripts/compat.py`.

An environment a combination, below build/compat; what is there already is used again. Only Pythons that are on this
machine are tried. `--only 3.13` picks combinations, the others keep the row of when they were last tried here.
`--write` puts the table into the site's page on compatibility.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
HOMES = ROOT / "build" / "compat"
PAGE = ROOT / "notebooks" / "docs" / "project" / "compatibility.md"
BEGIN, END = "<!-- tried: begin (make compat) -->", "<!-- tried: end -->"


class Combination(NamedTuple):
    """What is installed together. ``lab`` and ``notebook`` are minor versions; "" is the newest in range."""

    python: str
    torch: str
    ipython: str = ""
    lab: str = ""
    notebook: str = ""

    @property
    def name(self) -> str:
        """A folder's name."""
        return "-".join(filter(None, (f"py{self.python}", f"torch{self.torch}", self.ipython and f"ip{self.ipython}")))

    @property
    def requirements(self) -> list[str]:
        """What pip is given beside the package."""
        wanted = {"ipython": self.ipython, "jupyterlab": self.lab, "notebook": self.notebook}
        return [f"{package}=={version}.*" for package, version in wanted.items() if version]


COMBINATIONS = (
    Combination("3.11", "2.10.0", "8.18", "4.2", "7.2"),
    Combination("3.11", "2.13.0", "8.18", "4.2", "7.2"),
    Combination("3.12", "2.11.0", "8.37", "4.3", "7.3"),
    Combination("3.13", "2.13.0", "9.0", "4.4", "7.4"),
    Combination("3.13", "2.14.1"),
    Combination("3.13", "2.15.0"),
    Combination("3.14", "2.15.0"),
)
CORE = (
    "tests/undisturbed",
    "tests/magic",
    "tests/cli",
    "tests/views",
    "tests/test_live.py",
    "tests/test_private_names.py",
)
"""What depends on Python, torch and IPython most: the promises, the doors, the views, the private names."""
MARKERS = "not ui and not slow and not stories"
SHOWN = ("torch", "ipython", "jupyterlab", "notebook")


def pythons() -> dict[str, Path]:
    """Minor version -> an interpreter that runs."""
    places = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    roots.append(Path(os.environ.get("UV_PYTHON_INSTALL_DIR", Path.home() / ".local/share/uv/python")))
    paths: list[str | Path] = [
        sys.executable,
        *filter(None, places),
        *(path for root in roots for path in root.glob("*/bin/python3")),
    ]
    found: dict[str, Path] = {}
    for path in paths:
        command = [str(path), "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - an interpreter
        if done.returncode == 0:
            found.setdefault(done.stdout.strip(), Path(path))
    return found


def tried(combination: Combination, python: Path, processes: int) -> str:
    """Make the environment and run the tests in it; the row of the table."""
    home = HOMES / combination.name
    inside = home / "bin" / "python"
    done = home / ".installed"
    if not done.exists():
        _say(f"[compat] {combination.name}: installing")
        # A virtual environment of this one's Python is made by the Python that it was made of.
        _run([str(python), "-m", "venv", "--clear", str(home)])
        pip = [str(inside), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
        # torch first and alone: as a dependency of the others pip might choose another build of it.
        for wanted in ([f"torch=={combination.torch}"], ["-e", ".[test,lab]", *combination.requirements]):
            failure = _run([*pip, *wanted])
            if failure:
                return _row(combination, {}, f"cannot be installed: {failure}")
        done.touch()
    _say(f"[compat] {combination.name}: testing")
    began = time.perf_counter()
    command = [str(inside), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(processes), "-m", MARKERS, *CORE]
    ended = subprocess.run(  # noqa: S603 - pytest
        command, cwd=ROOT, env=_environment(home), capture_output=True, text=True, check=False
    )
    (HOMES / f"{combination.name}.log").write_text(ended.stdout + ended.stderr, encoding="utf-8")
    last = (ended.stdout.strip().splitlines() or ["pytest printed nothing"])[-1]
    outcome = re.sub(r" in [\d.]+s.*", "", last).strip("= ")
    _say(f"[compat] {combination.name}: {outcome} ({time.perf_counter() - began:.0f} s)")
    row = _row(combination, _versions(inside), outcome)
    _last(combination).write_text(row, encoding="utf-8")
    return row


def _last(combination: Combination) -> Path:
    """Where its row is kept."""
    return HOMES / f"{combination.name}.row"


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    return kept | {"PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}


def _versions(python: Path) -> dict[str, str]:
    program = (
        "import platform; from importlib.metadata import version\n"
        f"print(platform.python_version(), *map(version, {SHOWN!r}))"
    )
    said = subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=False)  # noqa: S603
    return dict(zip(("python", *SHOWN), said.stdout.split(), strict=False))


def _row(combination: Combination, versions: dict[str, str], outcome: str) -> str:
    asked = (combination.python, combination.torch, combination.ipython, combination.lab, combination.notebook)
    cells = [versions.get(name, wanted or "newest") for name, wanted in zip(("python", *SHOWN), asked, strict=True)]
    return f"| {' | '.join([*cells, outcome])} |"


def _run(command: list[str]) -> str:
    """The last line of a failure, "" where there is none."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - pip, venv
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1].strip() if done.returncode and lines else ""


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def rows(only: str, found: dict[str, Path], processes: int) -> Iterator[str]:
    """The table, line by line."""
    yield "| Python | PyTorch | IPython | JupyterLab | Notebook | core tests |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for combination in COMBINATIONS:
        if only not in combination.name:
            last = _last(combination)
            yield last.read_text(encoding="utf-8") if last.exists() else _row(combination, {}, "not tried")
        elif combination.python not in found:
            yield _row(combination, {}, f"not tried: no Python {combination.python} here")
        else:
            yield tried(combination, found[combination.python], processes)


def main() -> int:
    """Try what can be tried; 1 where a combination failed."""
    parser = argparse.ArgumentParser(description="Run a core of the tests on other Pythons and torches.")
    parser.add_argument("--only", default="", help="part of a combination's name: py3.13, torch2.15")
    parser.add_argument("--processes", type=int, default=min(4, os.cpu_count() or 1), help="how many run the tests")
    parser.add_argument("--list", action="store_true", help="what would be tried, and with which Python")
    parser.add_argument("--write", action="store_true", help="put the table into the page on compatibility")
    options = parser.parse_args()
    found = pythons()
    if options.list:
        for one in COMBINATIONS:
            _say(f"{one.name}: {found.get(one.python, 'no such Python here')}")
        return 0
    table = list(rows(options.only, found, options.processes))
    _say("\n".join(table))
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text("\n".join([f"{before}{BEGIN}", "", *table, "", f"{END}{after}"]), encoding="utf-8")
    return int(any(re.search(r"\b(failed|errors?|cannot)\b", line) for line in table))


if __name__ == "__main__":
    sys.exit(main())

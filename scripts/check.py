"""What ``make check`` runs: the linters, and the tests of what was changed.

Changed is what differs from the branch's start (its merge base with ``main``), committed or not. A test is one of a
changed module's if it lies in the folder that mirrors it; a rule's tests are those named after its code.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS_OF = {
    "analysis": ("analysis", "model", "rules"),
    "advice": ("rules",),
    "api": ("test_live.py", "archive"),
    "capture/checkpoint_files": ("checkpoints",),
    "capture/observers/optimizers": ("placement", "capture"),
    "capture": ("capture",),
    "frontends/cli": ("cli",),
    "frontends/notebook": ("magic",),
    "integrations": ("integrations",),
    "kernel/hub": ("hub",),
    "kernel": ("widget",),
    "model": ("model", "archive"),
    "rules": ("rules/test_causes.py", "rules/test_order.py", "rules/test_pages.py"),
    "source": ("source",),
    "views": ("views", "archive"),
}
"""Folder of the package -> its tests, the longest path first that fits; test_layers.py always."""


def changed() -> list[str]:
    """Paths of what differs from where the branch began."""
    base = _git("merge-base", "HEAD", "main") or ["HEAD"]
    return [*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")]


def tests_of(paths: list[str]) -> list[str]:
    """The test files and folders to run, each once."""
    found = {"tests/test_layers.py": None}
    for path in paths:
        found.update(dict.fromkeys(_tests_of(Path(path))))
    return [test for test in found if (ROOT / test).exists() and not any(f"{test}".startswith(f"{o}/") for o in found)]


def _tests_of(path: Path) -> Iterator[str]:
    parts = path.parts
    if parts[0] == "tests" and path.name.startswith("test_"):
        yield str(path)
    if parts[0] != "autograd_inspector" or path.suffix != ".py":
        return
    if parts[1] == "rules" and parts[2].startswith("ag"):
        yield from (str(test.relative_to(ROOT)) for test in (ROOT / "tests/rules").glob(f"test_{parts[2][:5]}*.py"))
        return
    inner = "/".join(parts[1:])
    fitting = [room for room in TESTS_OF if inner.startswith(f"{room}/")]
    for room in sorted(fitting, key=len)[-1:]:
        yield from (f"tests/{test}" for test in TESTS_OF[room])


def _git(*arguments: str) -> list[str]:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()  # noqa: S603 - git


def main() -> int:
    """Run one after the other; the first that fails ends it."""
    paths = changed()
    python = [path for path in paths if path.endswith(".py") and (ROOT / path).exists()]
    tests = tests_of(paths)
    commands = [
        *([["ruff", "check", *python], ["ruff", "format", "--check", *python]] if python else []),
        ["mypy"],
        ["pytest", "-q", "-x", "-n", "auto", "--dist", "worksteal", "-m", "not ui and not slow", *tests],
    ]
    for command in commands:
        sys.stdout.write(f"[check] {' '.join(command)}\n")
        sys.stdout.flush()
        code = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode  # noqa: S603 - ours
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())

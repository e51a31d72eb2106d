"""Run a script as Python itself would, inside one capture."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType, TracebackType

from msgspec import Struct

from autograd_inspector.inspection import inspect
from autograd_inspector.report import Report

INTERRUPTED = 130


class Outcome(Struct, frozen=True):
    """The program's own exit status, and its reports by cell number (0: a script has no cells)."""

    status: int
    reports: tuple[tuple[int, Report], ...] = ()


def run_script(path: Path, arguments: Sequence[str], *, values: bool, ignore: Sequence[str]) -> Outcome:
    """Run the script as ``__main__`` with its own arguments; its traceback is printed once."""
    inspection = inspect(values=values, ignore=tuple(ignore))
    status = 1
    with _as_main(path, arguments) as module:
        try:
            code = compile(path.read_bytes(), str(path), "exec")
        except (SyntaxError, ValueError) as error:
            _print(error, path)
            return Outcome(status)
        try:
            with inspection:
                status = _execute(code, module)
        except KeyboardInterrupt as interrupt:
            _print(interrupt, path)
            status = INTERRUPTED
        except BaseException as error:  # noqa: BLE001 - whatever ends a script ends it with a traceback
            _print(error, path)
    sys.stdout.flush()
    return Outcome(status, ((0, inspection.report),))


def _execute(code: CodeType, module: ModuleType) -> int:
    """The script's exit status. ``sys.exit()`` is an ordinary end, not an error of the program."""
    try:
        exec(code, module.__dict__)  # noqa: S102 - running the user's script is the task
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        sys.stderr.write(f"{leaving.code}\n")
        return 1
    return 0


@contextmanager
def _as_main(path: Path, arguments: Sequence[str]) -> Iterator[ModuleType]:
    """Make the interpreter look as after ``python path arguments``."""
    module = ModuleType("__main__")
    module.__dict__.update(__file__=str(path), __builtins__=__builtins__)
    before = sys.argv, sys.path[0], sys.modules["__main__"]
    sys.argv = [str(path), *arguments]
    sys.path[0] = str(path.resolve().parent)
    sys.modules["__main__"] = module
    try:
        yield module
    finally:
        sys.argv, sys.path[0], sys.modules["__main__"] = before


def _print(error: BaseException, path: Path) -> None:
    """The traceback as without us: from the script's own frame on."""
    sys.stdout.flush()
    traceback.print_exception(type(error), error, _below(error.__traceback__, str(path)))


def _below(found: TracebackType | None, filename: str) -> TracebackType | None:
    while found is not None and found.tb_frame.f_code.co_filename != filename:
        found = found.tb_next
    return found

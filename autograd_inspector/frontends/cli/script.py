"""Run a script as Python itself would, inside one capture."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Literal, TypeVar

from autograd_inspector.frontends.cli.outcome import INTERRUPTED, Asked, Outcome, ProgramError
from autograd_inspector.frontends.cli.overlay import text_of
from autograd_inspector.frontends.cli.screen import put
from autograd_inspector.own_files import runs_a_program
from autograd_inspector.raised import traceback_of

Load = Callable[[ModuleType], CodeType]
Ended = Callable[[], None]
T = TypeVar("T")


def run_script(path: Path, arguments: Sequence[str], asked: Asked, *, ended: Ended) -> Outcome:
    """Run the script as ``__main__`` with its own arguments; its traceback is printed once."""

    def load(main: ModuleType) -> CodeType:
        main.__dict__["__file__"] = str(path)
        text = text_of(str(path))
        return compile(path.read_bytes() if text is None else text, str(path), "exec")

    return run(load, [str(path), *arguments], path.resolve().parent, asked, ended=ended)


def run(load: Load, argv: Sequence[str], folder: Path, asked: Asked, *, ended: Ended) -> Outcome:
    """Run what ``load`` finds for a new ``__main__``; ``folder`` is where its imports are looked for first.

    ``load`` runs outside of the capture; a ProgramError of its passes through. ``ended`` is called when it ends.
    A process that the program forked and that comes back here ends: it is not the program, and has nothing to report.
    """
    from autograd_inspector.api.inspect import inspect  # torch is imported only where something is run
    from autograd_inspector.api.waiting import standing_still

    compiled: Literal["as it is", "eager"] = "eager" if asked.eager else "as it is"
    inspection = inspect(values=asked.values, ignore=asked.ignore, compiled=compiled, _around=True)
    with _as_main(argv, folder) as main:
        status, code = _guarded(lambda: load(main))
        if code is None:
            return Outcome(status, (), Path(argv[0]))

        def execute() -> int:
            with inspection, standing_still(asked.waiting, asked.waits):
                try:
                    return _execute(code, main)
                finally:
                    ended()

        process = os.getpid()
        failed, left = _guarded(execute)
    put("", sys.stdout)
    status = failed if left is None else left
    if os.getpid() != process:
        raise SystemExit(status)
    return Outcome(status, ((0, inspection.report),), Path(code.co_filename))


def _guarded(step: Callable[[], T]) -> tuple[int, T | None]:
    """(0, what the step returns), or the exit status of its failure, which is printed, and None."""
    try:
        return 0, step()
    except ProgramError:
        raise
    except KeyboardInterrupt as interrupt:
        _print(interrupt)
        return INTERRUPTED, None
    except BaseException as error:  # noqa: BLE001 - whatever ends a program ends it with a traceback
        _print(error)
        return 1, None


def _execute(code: CodeType, module: ModuleType) -> int:
    """The program's exit status. ``sys.exit()`` is an ordinary end, not an error of the program."""
    try:
        exec(code, module.__dict__)  # noqa: S102 - running the user's program is the task
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            # What the system keeps of it: `sys.exit(-1)` is 255 to the caller.
            return (leaving.code or 0) & (0xFF if os.name == "posix" else -1)
        put(f"{leaving.code}\n", sys.stderr)
        return 1
    return 0


@contextmanager
def _as_main(argv: Sequence[str], folder: Path) -> Iterator[ModuleType]:
    """Make the interpreter look as after ``python`` with these arguments."""
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    before = sys.argv, sys.path[0], sys.modules["__main__"]
    home = Path.cwd()
    sys.argv = list(argv)
    sys.path[0] = str(folder)
    sys.modules["__main__"] = module
    try:
        yield module
    finally:
        sys.argv, sys.path[0], sys.modules["__main__"] = before
        with suppress(OSError):  # reports go where the command was given, also when the program went elsewhere
            os.chdir(home)


def _print(error: BaseException) -> None:
    """The traceback as without us: from the program's own frame on."""
    put("", sys.stdout)
    traceback.print_exception(type(error), error, _below(traceback_of(error)))


def _below(trace: TracebackType | None) -> TracebackType | None:
    """Without the frames, ours and the import system's, that led to the program's first."""
    leading = (importlib.util.__file__, "<frozen importlib")
    while trace is not None and (runs_a_program(trace.tb_frame) or _file_of(trace).startswith(leading)):
        trace = trace.tb_next
    return trace


def _file_of(trace: TracebackType) -> str:
    return trace.tb_frame.f_code.co_filename

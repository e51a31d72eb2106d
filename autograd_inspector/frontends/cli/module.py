"""Run a module as ``python -m`` would, inside one capture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType

from autograd_inspector.frontends.cli.outcome import Asked, Outcome, ProgramError
from autograd_inspector.frontends.cli.script import Ended, run


def run_module(name: str, arguments: Sequence[str], asked: Asked, *, ended: Ended) -> Outcome:
    """Run the module, or a package's ``__main__``, with its own arguments and imports from the working directory.

    Raises ProgramError where there is no such module. Its parent packages are imported before the capture begins.
    """

    def load(main: ModuleType) -> CodeType:
        spec = _spec(name)
        code: CodeType | None = getattr(spec.loader, "get_code", lambda _: None)(spec.name)
        if code is None:
            raise ProgramError(f"{name!r} has no Python code to run")
        main.__dict__.update(
            __file__=spec.origin,
            __cached__=spec.cached,
            __loader__=spec.loader,
            __package__=spec.parent,
            __spec__=spec,
        )
        sys.argv[0] = spec.origin or name
        return code

    # "-m" is what Python itself has there while it imports the parents.
    return run(load, ["-m", *arguments], Path.cwd(), asked, ended=ended)


def _spec(name: str) -> ModuleSpec:
    if name.startswith("."):
        raise ProgramError(f"a module is named in full: {name!r} is relative")
    if name.endswith(".py") and Path(name).is_file():  # Looking for it would import, and so run, the module itself.
        raise ProgramError(f"no module named {name!r}; did you mean -m {name.removesuffix('.py')}?")
    try:
        spec = find_spec(name)
    except ModuleNotFoundError as error:
        # A parent that imports something missing has failed by itself: that is its own traceback.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    except ValueError:  # `__main__`, or a module that some other program made by hand
        spec = None
    if spec is None:
        raise ProgramError(f"no module named {name!r}")
    if spec.submodule_search_locations is None:
        return spec
    if name.endswith(".__main__"):
        raise ProgramError(f"{name!r} is a package, and cannot be run")
    try:
        return _spec(f"{name}.__main__")
    except ProgramError:
        raise ProgramError(f"{name!r} is a package without __main__.py: it cannot be run") from None

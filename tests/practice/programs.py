"""Finds the programs, loads one, and runs it."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

import torch

from tests.practice.truth import CAUSE, Truth, marked

FOLDER: Final = Path(__file__).parent / "programs"
_TRUTH = "\nTRUTH = Truth("


def every() -> list[Path]:
    """Return the files of all programs, in the order of their names."""
    return sorted(path for path in FOLDER.rglob("*.py") if path.name != "__init__.py")


def name_of(source: Path) -> str:
    """Return a program's name: `field/what_it_does`."""
    return source.relative_to(FOLDER).with_suffix("").as_posix()


def loaded(source: Path, text: str | None = None) -> ModuleType:
    """Return the module that the file `source` defines; with `text`, what it would define if it read so."""
    module = ModuleType(source.stem)
    module.__file__ = str(source)
    sys.modules[source.stem] = module
    code = compile(source.read_text(encoding="utf-8") if text is None else text, str(source), "exec")
    exec(code, module.__dict__)
    return module


def truth_of(module: ModuleType) -> Truth:
    """Return what is known of a loaded program."""
    truth = module.TRUTH
    if not isinstance(truth, Truth):
        raise TypeError(f"{module.__file__} has no TRUTH = Truth(...)")
    return truth


@cache
def written_truth(source: Path) -> Truth:
    """Return what is known of a program that is not run: its TRUTH as it is written, in values alone."""
    text = source.read_text(encoding="utf-8")
    match ast.parse(text[text.index(_TRUTH) :]).body[0]:  # What stands before need not be read.
        case ast.Assign(value=ast.Call(keywords=given)):
            return Truth(**{str(field.arg): ast.literal_eval(field.value) for field in given})
    raise TypeError(f"{source} has no TRUTH = Truth(...)")


def run(module: ModuleType) -> object:
    """Run a loaded program to its end.

    Returns what `run()` returns, or the exception that ended it. A program that leaves grad mode off does so for none
    of the others; distributions check their arguments, as they do until Dynamo first runs in a process.
    """
    torch.distributions.Distribution.set_default_validate_args(__debug__)
    if hasattr(module, "setup"):
        module.setup()
    try:
        return module.run()
    except Exception as error:
        return error
    finally:
        torch.set_grad_enabled(True)


def as_described(module: ModuleType, outcome: object) -> str:
    """Say in what a run differs from the program's truth, or return nothing."""
    truth = truth_of(module)
    if isinstance(outcome, Exception) != bool(truth.raises):
        return f"ends with {outcome!r}" if isinstance(outcome, Exception) else "raises nothing"
    if truth.raises and not str(outcome).startswith(truth.raises):
        return f"raises {outcome!r}"
    if hasattr(module, "verify"):
        try:
            module.verify(outcome)
        except AssertionError as error:
            return f"the symptom is not there: {error!r}"
    return ""


def repaired(source: Path, truth: Truth) -> str:
    """Return the program's text with each line that is marked as a cause replaced by its repair, indented like it."""
    lines = source.read_text(encoding="utf-8").splitlines()
    causes = marked(source, CAUSE)
    if len(causes) != len(truth.repair):
        raise ValueError(f"{source.name}: {len(causes)} lines are marked as causes, {len(truth.repair)} repairs given")
    for number, repair in zip(causes, truth.repair, strict=True):
        old = lines[number - 1]
        indent = old[: len(old) - len(old.lstrip())]
        lines[number - 1] = "\n".join(indent + line for line in repair.splitlines())
    return "\n".join(lines) + "\n"

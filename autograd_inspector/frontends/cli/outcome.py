"""What became of a program that was run."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from autograd_inspector.api.report import Report

NOT_JUDGED = 3
INTERRUPTED = 130


class ProgramError(Exception):
    """There is nothing here that could be run: the command was wrong, not the program."""


class Outcome(Struct, frozen=True):
    """The program's own exit status, its reports by cell number (0: a script has no cells), and its file."""

    status: int
    reports: tuple[tuple[int, Report], ...] = ()
    program: Path = Path()

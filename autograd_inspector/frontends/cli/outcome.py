"""What became of a program that was run."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from autograd_inspector.api.report import Report

FINDINGS = 121
NOT_JUDGED = 122
UNABLE = 125
"""As `timeout`, `env` and `docker run` say that they themselves failed, and nothing was run."""
INTERRUPTED = 130
OWN = frozenset({FINDINGS, NOT_JUDGED, UNABLE})
"""Exit statuses of ours. Few programs use them: the shell and wrappers have those from 124 on, Python has 120."""


class ProgramError(Exception):
    """There is nothing here that could be run: the command was wrong, not the program."""


class Asked(Struct, frozen=True):
    """What the capture of a run is to do: read values, run compiled code uncompiled, drop findings of some rules.

    ``waiting``: seconds at one line after which a rank says where it is; ``waits`` is the file for that, "" for none.
    """

    values: bool = False
    eager: bool = False
    ignore: tuple[str, ...] = ()
    waiting: float = 0
    waits: str = ""


class Outcome(Struct, frozen=True):
    """The program's own exit status, its reports by cell number (0: a script has no cells), and its file."""

    status: int
    reports: tuple[tuple[int, Report], ...] = ()
    program: Path = Path()

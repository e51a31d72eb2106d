"""What is the inspector's own code: that is told from the program's by its file.

As the code objects name it, which is how the package was imported: a path through a symbolic link stays one.
"""

from __future__ import annotations

import os
from types import FrameType

_HOME = os.path.dirname((lambda: None).__code__.co_filename) + os.sep  # noqa: PTH120 - Path would tidy the name up
_RUNNERS = os.path.join(_HOME, "frontends", "cli", "")  # noqa: PTH118


def is_own_file(filename: str) -> bool:
    """Whether code of that file is the inspector's."""
    return filename.startswith(_HOME)


def is_own(frame: FrameType) -> bool:
    """Whether the inspector itself runs in a frame, and not the program."""
    return is_own_file(frame.f_code.co_filename)


def runs_a_program(frame: FrameType) -> bool:
    """Whether the inspector runs a whole program there: without us that program has no frame outside it."""
    return frame.f_code.co_filename.startswith(_RUNNERS)

"""Where the inspector's own code lies: its frames are told from the program's by their file."""

from __future__ import annotations

from pathlib import Path

_HOME = Path(__file__).resolve().parent
PACKAGE = f"{_HOME}/"
RUNNERS = f"{_HOME / 'frontends' / 'cli'}/"
"""Where the frames are that run a whole program: without us it has none outside it."""

"""A switch of the grad mode that a captured graph threw, as the program wrote it."""

from __future__ import annotations

from types import CodeType
from typing import NamedTuple


class Thrown(NamedTuple):
    """A switch: what was called, and the frames of the call, innermost first.

    ``decorated``: the function whose decorator it was. ``library``: torch's own module that threw it.
    """

    name: str
    frames: tuple[tuple[CodeType, int, bool], ...]
    decorated: CodeType | None = None
    library: str = ""

    @property
    def api(self) -> str:
        """As the program would write it."""
        return f"torch.{self.name}()"

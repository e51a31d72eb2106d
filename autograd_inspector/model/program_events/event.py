"""What all of them have."""

from __future__ import annotations

from msgspec import Struct


class ProgramEvent(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=True):
    """What all of them have: ``at`` is the op index then; ``type`` names the class of the module or the optimizer.

    ``tensors`` are ids after the event.
    """

    at: int
    site: int

    @property
    def api(self) -> str:
        """What the program called or assigned."""
        raise NotImplementedError

    @property
    def tensors(self) -> tuple[int, ...]:
        """The tensors concerned."""
        return ()

    @property
    def optimizer(self) -> int:
        """The optimizer concerned, -1 for none."""
        return -1

    @property
    def run(self) -> int:
        """The engine run concerned, -1 for none."""
        return -1

    @property
    def within(self) -> int:
        """The module call concerned, -1 for none."""
        return -1

    @property
    def made(self) -> int:
        """The site that made what is concerned, -1 for none."""
        return -1

    @property
    def waiting(self) -> int:
        """The site at which the capture's own thread waited, -1 for none."""
        return -1

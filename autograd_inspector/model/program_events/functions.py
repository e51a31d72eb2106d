"""What is known of custom autograd.Functions from how they are defined; their ``site`` is that line."""

from __future__ import annotations

from autograd_inspector.model.program_events.event import ProgramEvent


class OnceDifferentiable(ProgramEvent, frozen=True):
    """A Function was applied whose backward is marked as not differentiable; ``site`` is the mark."""

    function: str

    @property
    def api(self) -> str:
        """The method."""
        return f"{self.function}.backward"


class FunctionRefused(ProgramEvent, frozen=True):
    """A transform of torch.func refused a Function, for its ``forward`` takes the ``ctx``; ``site`` is that method."""

    function: str

    @property
    def api(self) -> str:
        """The method."""
        return f"{self.function}.forward"


class RandomUnderVmap(ProgramEvent, frozen=True):
    """A function that vmap had made called a random op, and was not given ``randomness``; ``site`` made it."""

    @property
    def api(self) -> str:
        """The transform."""
        return "torch.vmap"

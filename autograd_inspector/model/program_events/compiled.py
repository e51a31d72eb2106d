"""What is known of a call of code that ``torch.compile`` made."""

from __future__ import annotations

from autograd_inspector.model.program_events.event import ProgramEvent


class CompiledCalled(ProgramEvent, frozen=True):
    """A call of a compiled function or module, the outermost one; ``site`` is the line of the call.

    ``until`` is how many ops had run at its end, ``within`` the module call that it was made in. Of all calls of that
    function so far: ``graphs`` that ran, ``breaks`` between graphs ("reason at train.py:12"), what made Dynamo compile
    it ``again``, once for each time.
    """

    function: str
    until: int = -1
    within: int = -1
    graphs: int = 0
    breaks: tuple[str, ...] = ()
    again: tuple[str, ...] = ()

    @property
    def api(self) -> str:
        """What was called."""
        return f"compiled {self.function}"

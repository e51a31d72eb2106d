"""What a story is: a program that goes wrong, the same program repaired, and what a report must say."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Story:
    """A faulty program beside its repaired twin."""

    number: int
    """Which of the five stories this is a variant of."""
    name: str
    title: str
    broken: Callable[[], object]
    repaired: Callable[[], object]
    raises: str | None
    """How the broken program's error begins, written ``Type: text``; None when it fails in silence."""
    rules: tuple[str, ...]
    """Any of these codes, as an error or a warning, names the fault."""
    culprits: tuple[str, ...]
    """Source text of the lines to blame: one located line must contain one of them."""
    names: tuple[str, ...]
    """Parameters, modules, values and ops that the finding must mention."""

    @property
    def slug(self) -> str:
        """A name for test ids and file names."""
        return f"{self.number}-{self.name}"


@dataclass(frozen=True)
class Healthy:
    """A program with nothing wrong in it."""

    number: int
    name: str
    title: str
    run: Callable[[], object]

    @property
    def slug(self) -> str:
        """A name for test ids."""
        return f"{self.number}-{self.name}"


def error_text(error: BaseException) -> str:
    """The first line of an error, as the last line of its traceback shows it."""
    return f"{type(error).__name__}: {error}".splitlines()[0]

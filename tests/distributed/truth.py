"""What is known of a program of several ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Truth:
    """The truth about one program; a healthy one has no ``fault``."""

    fault: str = ""  # what is wrong, in a few words of the field; empty: nothing is
    rule: str = ""  # the code of the finding that a good report has
    names: tuple[str, ...] = ()  # what a good answer mentions
    where: Literal["own", "gather", "any"] = "own"  # who can know it: each affected rank's own report, or all together
    values: bool = False  # only who reads the numbers can know it
    before: bool = False  # the fault was made in ``setup()``, before anything is recorded: no line of it is known
    raises: str = ""  # what ends ``run()`` on some rank says this; "one|other": gloo words a timeout in two ways

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong with the program."""
        return not self.fault

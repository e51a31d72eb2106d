"""What several ranks have together, beside the capture of the one that is shown."""

from __future__ import annotations

from msgspec import Struct


class RankChoice(Struct, frozen=True, omit_defaults=True):
    """A rank: what there is to say of it in a few words, and the gravest of its findings.

    ``kept``: its capture is at hand, and can be shown.
    """

    rank: int
    said: str
    severity: str = ""
    kept: bool = False


class RankLane(Struct, frozen=True, omit_defaults=True):
    """What some ranks did alike, in order; ``ending``: what kept them from the end of the program."""

    ranks: str
    marks: tuple[str, ...] = ()
    ending: str = ""


class Ranks(Struct, frozen=True):
    """``shown``: the rank of this capture, -1 of none. ``same``: with so many marks all lanes begin.

    ``headers`` and ``rows`` are the placement: like parameters share a row, like ranks a column, the sums stand last.
    """

    shown: int
    choices: tuple[RankChoice, ...]
    lanes: tuple[RankLane, ...]
    same: int
    said: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    differences: tuple[str, ...]

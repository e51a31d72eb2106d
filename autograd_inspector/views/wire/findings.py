"""A finding as the front end shows it."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.model.edit import Applicability
from autograd_inspector.model.excerpt import Excerpt


class FindingView(Struct, frozen=True, omit_defaults=True):
    """A finding; ``nodes`` are those that it is about, the first excerpt of ``code`` has the culprit.

    ``ranks``: of several, those that have it ("ranks 0–2").

    ``changes`` are the lines of ``patch`` without its headers; ``unedited`` says why there are none, ``tried`` what a
    trial showed.
    """

    rule: str
    name: str
    severity: str
    message: str
    fix: str = ""
    steps: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    code: tuple[Excerpt, ...] = ()
    changes: tuple[str, ...] = ()
    patch: str = ""
    applicability: Applicability = ""
    unedited: str = ""
    tried: str = ""
    ranks: str = ""

"""What kernel and front end say to each other.

``labextension/src/lab/kernel/messages.ts`` is generated from these records.

Two comms: the kernel opens ``HUB`` and tells on it what changed; a front end opens ``REQUESTS`` and asks on it, which
works while a cell runs where the kernel has subshells.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

PROTOCOL = 1
"""Version of these messages; a side that reads another says so in one line."""

HUB = "autograd_inspector.kernel.hub"
REQUESTS = "autograd_inspector.requests"


class Mark(Struct, frozen=True, omit_defaults=True):
    """A line of a cell that a finding names, or the first of its lines in a file: ``cell`` is the file's name then.

    ``path`` is the whole name of that file. ``culprit``: the first of its lines. ``source`` is the text that ran,
    without its indentation, "" where that cannot be told: a line that says something else now is not the one.
    ``patch``: the finding's edits, on one of its lines; ``unsafe``: they may change what the program does.
    """

    rule: str
    name: str
    severity: str
    message: str
    cell: str
    cell_id: str
    line: int
    source: str = ""
    role: str = ""
    fix: str = ""
    culprit: bool = False
    patch: str = ""
    unsafe: bool = False
    path: str = ""


class Entry(Struct, frozen=True, omit_defaults=True):
    """A capture as a list shows it.

    ``cell`` is its label ("In [3]") or file, ``cell_id`` the notebook's own id of it, ``first_line`` what that begins
    with. ``created`` is in seconds since 1970, ``seconds`` how long the program ran. ``error`` is what it raised.
    ``released``: it is listed, but the kernel no longer has it, for the captures took too much memory.
    """

    id: str
    name: str
    cell: str
    cell_id: str
    first_line: str
    headline: str
    errors: int
    warnings: int
    infos: int
    nodes: int
    ops: int
    created: float
    seconds: float
    pinned: bool = False
    released: bool = False
    error: str = ""
    unjudged: str = ""
    marks: tuple[Mark, ...] = ()


class Listing(Struct, frozen=True):
    """All captures, newest first. ``every``: each cell is inspected. ``values``: tensor values are read."""

    type: Literal["list"]
    protocol: int
    wire: int
    version: str
    revision: int
    captures: tuple[Entry, ...]
    every: bool
    keep: int
    values: bool


class Changed(Struct, frozen=True):
    """A capture is new, or is now said otherwise. A front end that missed a revision asks for the list."""

    type: Literal["changed"]
    protocol: int
    revision: int
    entry: Entry


class Removed(Struct, frozen=True):
    """Captures are gone."""

    type: Literal["removed"]
    protocol: int
    revision: int
    ids: tuple[str, ...]


class Settings(Struct, frozen=True):
    """How this kernel inspects from now on."""

    type: Literal["settings"]
    protocol: int
    revision: int
    every: bool
    keep: int
    values: bool


class Live(Struct, frozen=True):
    """A capture that is open while its cell runs: what was recorded so far. ``stopped``: it records no more.

    ``marks``: the findings that nothing which comes later takes back, each with its culprit's line alone.
    """

    cell: str
    ops: int
    steps: int
    seconds: float
    stopped: bool
    marks: tuple[Mark, ...] = ()


class Request(Struct, frozen=True, forbid_unknown_fields=False):
    """What a front end asks. ``captures`` names those concerned; what else an action needs is in its own field.

    ``show`` and ``compare`` (two captures) answer with a widget's model id, ``export`` with a file's text,
    ``source`` with the text of a file that a capture names, ``list`` with a Listing, ``live`` with a Live where a
    capture is open; the others with null. ``stop`` ends the open capture, not the cell.
    """

    id: int
    action: Literal[
        "list", "show", "compare", "rename", "pin", "delete", "clear", "export", "source", "every", "configure",
        "live", "stop",
    ]  # fmt: skip
    captures: tuple[str, ...] = ()
    name: str = ""
    format: str = ""
    path: str = ""
    on: bool = False
    keep: int | None = None
    values: bool | None = None


class Answer(Struct, frozen=True):
    """To the request of that id: ``text`` (a model id, a file), ``list``, ``live``, or none of them."""

    type: Literal["answer"]
    id: int
    text: str | None = None
    list: Listing | None = None
    live: Live | None = None


class Refusal(Struct, frozen=True):
    """Why there is no answer to the request of that id (-1: it was none), in one line."""

    type: Literal["refusal"]
    id: int
    text: str


class Progress(Struct, frozen=True):
    """The request of that id is being worked on."""

    type: Literal["progress"]
    id: int
    text: str

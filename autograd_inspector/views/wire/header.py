"""What is said once of a report: its header, the optimizers, and where the gradients came from."""

from __future__ import annotations

from msgspec import Struct


class Optimizer(Struct, frozen=True, omit_defaults=True):
    """An optimizer and the settings of its groups."""

    type: str
    groups: tuple[dict[str, str], ...] = ()
    steps: int = 0
    place: str = ""


class ByteTotal(Struct, frozen=True):
    """Bytes on one device (or of one dtype), each storage once."""

    key: str
    parameters: int
    gradients: int
    state: int


class Summary(Struct, frozen=True):
    """What the header says.

    ``parameters`` counts the placement's rows. ``short``: the tables are those of a condensed report
    (views/notebook/condensed.py), this record is that of the whole.
    """

    cell: str
    headline: str
    unjudged: str
    ops: int
    autograd_nodes: int
    saved_bytes: int
    seconds: float
    error: str
    torch: str
    truncated: bool
    ignored: int
    notes: tuple[str, ...]
    models: tuple[str, ...]
    parameters: int
    short: bool = False


class Loss(Struct, frozen=True):
    """A loss, ``said`` with how often its gradient was added; ``site``: where backward() was called on it."""

    said: str
    site: int


class GradientOrigin(Struct, frozen=True):
    """One origin of the gradients of these ``parameters`` (rows of that table); ``remark``: what else is to be said."""

    parameters: tuple[int, ...]
    losses: tuple[Loss, ...]
    remark: str


class GradientNorms(Struct, frozen=True):
    """The norm of the gradient that the last backward left in each of these parameters, where it is finite."""

    node: tuple[int, ...]
    norm: tuple[float, ...]

"""What one rank tells the others about its work, to be compared."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.model.location import Location


class Done(Struct, frozen=True, omit_defaults=True):
    """Something that a rank did at a place of the program, so many ``times``. ``last``: it did nothing like it later.

    ``names``: the parameters concerned. ``value``: what it set.
    """

    api: str
    places: tuple[Location, ...] = ()
    times: int = 1
    names: tuple[str, ...] = ()
    value: str = ""
    last: bool = False


class RankSummary(Struct, frozen=True, omit_defaults=True):
    """The work of one rank.

    ``replica``: it reduces gradients with the others, so that its weights are to stay theirs; ``reduced``: the names of
    these parameters. ``exchanges``: the calls that all ranks have to make; ``forwards``: the calls of each wrapper that
    exchange something. ``waited``: the call that raised, as the others did not come. ``steps``: those of each
    optimizer. ``made``, ``schedules``: the lines that made optimizers, and that stepped schedulers. ``frozen``: those
    that set ``requires_grad``. ``loads``: weights that were loaded when the replicas were equal already. ``edits``:
    lines that compute new values of replicated weights in place. ``sequence``: the first of the exchanges, in their
    order, each with its place in ``exchanges`` and what it carries. ``data``, ``weights``: fingerprints, where values
    are read.
    """

    replica: bool = False
    reduced: tuple[str, ...] = ()
    exchanges: tuple[Done, ...] = ()
    forwards: tuple[Done, ...] = ()
    joins: bool = False
    waited: Done | None = None
    steps: tuple[Done, ...] = ()
    made: tuple[Done, ...] = ()
    schedules: tuple[Done, ...] = ()
    frozen: tuple[Done, ...] = ()
    loads: tuple[Done, ...] = ()
    edits: tuple[Done, ...] = ()
    sequence: tuple[tuple[int, str], ...] = ()
    data: tuple[int, ...] = ()
    data_place: tuple[Location, ...] = ()
    weights: dict[str, int] = {}
    weights_place: tuple[Location, ...] = ()
    raised: bool = False

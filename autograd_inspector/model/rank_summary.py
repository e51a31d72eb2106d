"""What one rank tells the others about its work, to be compared."""

from __future__ import annotations

from typing import Literal

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


class Moment(Struct, frozen=True, omit_defaults=True):
    """What a rank had at a line: ``ranks|name`` -> fingerprint, ``ranks`` empty for what all ranks have.

    ``line``: its place in ``RankSummary.moment_lines``, whose ``api`` says what was looked at.
    """

    line: int
    digests: dict[str, int]


class Turned(Struct, frozen=True, omit_defaults=True):
    """A gradient that crossed between two stages of a pipeline, number ``back`` of the messages from the later one.

    It is that of message ``there`` of those to the later stage, 0: of none, it is zeros. ``what``: this is the earlier
    one, and "used" it for that, or the later one, and "sent" it for that. ``peer`` is the other stage.
    """

    what: Literal["used", "sent"]
    peer: int
    there: int
    back: int
    places: tuple[Location, ...] = ()


class Dealt(Struct, frozen=True, omit_defaults=True):
    """The ``orders`` in which a sampler shuffled, epoch by epoch: each the seed and the epoch together.

    ``subset`` tells apart which part of a data set it deals out, -1 for all of one; ``split``: the line that drew it.
    """

    type: str
    orders: tuple[int, ...]
    places: tuple[Location, ...] = ()
    subset: int = -1
    split: tuple[Location, ...] = ()


class RankSummary(Struct, frozen=True, omit_defaults=True):
    """The work of one rank.

    ``replica``: it reduces gradients with the others, so that its weights are to stay theirs; ``reduced``: the names
    of these parameters. ``exchanges``: the calls that all ranks have to make; ``forwards``: the calls of each wrapper
    that exchange something. ``waited``: the call that raised, as the others did not come. ``steps``: those of each
    optimizer. ``made``, ``schedules``: the lines that made optimizers, and that stepped schedulers. ``frozen``: those
    that set ``requires_grad``. ``loads``: weights that were loaded when the replicas were equal already. ``edits``:
    lines that compute new values of replicated weights in place. ``sequence``: the first of the exchanges, in their
    order, each with its place in ``exchanges``, what it carries, and how much of it, where all ranks have to agree.
    ``data``, ``weights``: fingerprints, where values are read. ``gradient_edits``: lines that write to gradients
    between their reduction and the step. ``state_loads``: those of optimizers. ``autocast``: lines that compute with
    weights in a lower precision. ``backwards``: those of each wrapper that reduce. ``clocks``: of each optimizer, how
    much the ranks had done together before each step. ``teachers``: lines that compute new values of weights that
    nothing reduces; ``read``: the names of such weights that a loss is computed with, and that backward does not
    reach. ``stood``: where a rank that never ended its program was last, for ``times`` seconds. ``lane``: what it did,
    in order, each with how often in a row. ``moments``: the fingerprints of what ranks are to have in common, in
    order, where values are read. ``drawn``: the lines that gave weights the values that they begin to learn with.
    ``sent``: the names of weights that the ranks exchange in the course of training: whoever steps them, all have
    them. ``computed``: where layers are parallel, what the first call of each layer was given and returned
    ("given:result"), and its parameters; ``moved``: the fingerprints of these behind each step. ``passes``: the
    forwards of wrappers and the backwards through them, in order, each with its place in ``pass_lines``, whose
    ``value`` says which of them it is. ``dealt``: how samplers shuffled the data of which each rank gets a part.
    ``step_lines``: the steps at each line. ``roots``: of each exchange in ``sequence`` the rank that it sends from, or
    to, -1 where there is none. ``kept``: fingerprints of weights that nothing steps, of models that are called without
    grad mode, where values are read. ``turned``: the gradients that stages of a pipeline exchanged.
    ``senders``: lines that send weights from one rank, the ``value``, between the steps. ``unclipped``: the gradients
    of such layers before torch's clipping changed them, step by step.
    ``summed_back``: lines whose gradients Functions sum over the ranks, where no gradient of a parameter is reduced:
    the ``value`` has fingerprints of what this rank gives to each sum in the forward, ":", and in backward.
    ``reseeded``: the lines that set the state of the random generator, each behind so many batches (``times``)
    and to what ``value`` tells.
    ``gathered_parts``: lines whose layers see this rank's part of what a Function then gathers, with their parameters.
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
    sequence: tuple[tuple[int, str, str], ...] = ()
    data: tuple[int, ...] = ()
    data_place: tuple[Location, ...] = ()
    weights: dict[str, int] = {}
    weights_place: tuple[Location, ...] = ()
    raised: bool = False
    gradient_edits: tuple[Done, ...] = ()
    state_loads: tuple[Done, ...] = ()
    autocast: tuple[Done, ...] = ()
    backwards: tuple[Done, ...] = ()
    clocks: tuple[tuple[int, ...], ...] = ()
    teachers: tuple[Done, ...] = ()
    read: tuple[str, ...] = ()
    stood: Done | None = None
    lane: tuple[tuple[str, int], ...] = ()
    moment_lines: tuple[Done, ...] = ()
    moments: tuple[Moment, ...] = ()
    drawn: tuple[Done, ...] = ()
    sent: tuple[str, ...] = ()
    computed: tuple[Done, ...] = ()
    moved: dict[str, tuple[int, ...]] = {}
    pass_lines: tuple[Done, ...] = ()
    passes: tuple[int, ...] = ()
    dealt: tuple[Dealt, ...] = ()
    step_lines: tuple[Done, ...] = ()
    roots: tuple[int, ...] = ()
    kept: dict[str, int] = {}
    kept_place: tuple[Location, ...] = ()
    turned: tuple[Turned, ...] = ()
    senders: tuple[Done, ...] = ()
    unclipped: tuple[Done, ...] = ()
    summed_back: tuple[Done, ...] = ()
    gathered_parts: tuple[Done, ...] = ()
    reseeded: tuple[Done, ...] = ()

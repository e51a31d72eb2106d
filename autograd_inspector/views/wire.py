"""What goes to the front end: one versioned record of tables, whose columns are numbers.

All text stands once in ``strings``; a column of text holds indices into it (-1: none). A column whose name is that of
another table holds how many of its rows belong to this row, in order. ``labextension/src/wire.ts`` is generated from
these records by ``scripts/wire_types.py``.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograd_inspector.model.edit import Applicability
from autograd_inspector.model.excerpt import CodeLine, Excerpt
from autograd_inspector.model.rule_page import RulePage, Section

__all__ = ["CodeLine", "Excerpt", "RulePage", "Section"]
"""Records of the model that are sent as they are, but for what is not legible."""

WIRE = 1
"""Version of this form; a front end refuses any other."""

Width = Literal["constant", "int8", "int16", "int32", "float64"]


class Packed(Struct, frozen=True, gc=False):
    """A column in the buffer: ``count`` little-endian numbers from byte ``start`` on.

    ``constant``: all are ``start``, and no bytes are needed. ``delta``: each is the difference from the one before.
    """

    start: int
    count: int
    width: Width
    delta: bool = False


Column = tuple[int, ...] | Packed


class Nodes(Struct, frozen=True):
    """Nodes of the merged graph. ``flags``: see NODE_FLAGS. ``gradient``: 0 unknown, 1 present, 2 none."""

    kind: Column
    name: Column
    op: Column
    tensor: Column
    call: Column
    site: Column
    flags: Column
    hooks: Column
    error: Column
    gradient: Column
    grad_fns: Column
    saved: Column


NODE_FLAGS = ("tracked", "root", "failed", "recomputed")


class GradFns(Struct, frozen=True):
    """Autograd nodes of a node."""

    name: Column


class Saved(Struct, frozen=True):
    """Tensors that a node keeps for backward; versions are -1 where unknown."""

    name: Column
    tensor: Column
    shape: Column
    dtype: Column
    device: Column
    nbytes: Column
    status: Column
    saved_version: Column
    current_version: Column
    unused: Column


class Edges(Struct, frozen=True):
    """Values between nodes."""

    source: Column
    target: Column
    kind: Column
    tensor: Column
    cause: Column
    site: Column
    live: Column


class Ops(Struct, frozen=True):
    """Torch calls in program order; ``node`` is the one that shows it."""

    name: Column
    node: Column
    call: Column
    site: Column
    region: Column
    traits: Column
    error: Column
    inputs: Column
    outputs: Column
    writes: Column


class Inputs(Struct, frozen=True):
    """What an op read, and the version counter before it."""

    tensor: Column
    version: Column


class Outputs(Struct, frozen=True):
    """What an op returned, and its version counter after it; -1 where that is unknown."""

    tensor: Column
    version: Column


class Writes(Struct, frozen=True):
    """What an op modified in place; equal versions: no counter moved."""

    tensor: Column
    before: Column
    after: Column


class Tensors(Struct, frozen=True):
    """Tensors that took part. ``flags``: see TENSOR_FLAGS."""

    kind: Column
    name: Column
    shape: Column
    dtype: Column
    device: Column
    nbytes: Column
    flags: Column
    birth: Column


TENSOR_FLAGS = ("requires_grad", "leaf", "inference")


class Sites(Struct, frozen=True):
    """Call chains, innermost first; ``user`` is the row of ``frames`` that is the user's own line."""

    user: Column
    chain: Column


class Chain(Struct, frozen=True):
    """The frames of a site."""

    frame: Column


class Frames(Struct, frozen=True):
    """Lines of the program."""

    filename: Column
    lineno: Column
    function: Column
    cell: Column
    source: Column
    library: Column


class Calls(Struct, frozen=True):
    """Calls of modules."""

    parent: Column
    path: Column
    type: Column
    nth: Column
    root: Column
    site: Column
    training: Column


class Regions(Struct, frozen=True):
    """Stretches of the program under one grad mode."""

    kind: Column
    api: Column
    site: Column
    at: Column


class Events(Struct, frozen=True):
    """What happened beside the ops; ``at``: how many ops had run."""

    at: Column
    kind: Column
    api: Column
    said: Column
    site: Column
    alarming: Column


class Parameters(Struct, frozen=True):
    """The placement, one row a parameter and optimizer. ``grad_*`` are -1 without a gradient."""

    tensor: Column
    name: Column
    model: Column
    shape: Column
    dtype: Column
    device: Column
    nbytes: Column
    requires_grad: Column
    reached: Column
    standing: Column
    optimizer: Column
    group: Column
    grad_shape: Column
    grad_dtype: Column
    grad_device: Column
    grad_nbytes: Column
    state: Column


class State(Struct, frozen=True):
    """Tensors of an optimizer's state for a parameter."""

    name: Column
    shape: Column
    dtype: Column
    device: Column
    nbytes: Column


class NodeNotes(Struct, frozen=True):
    """What is known of a node's values, where the user opted into reading them."""

    node: Column
    text: Column
    alarming: Column


class GradientNorms(Struct, frozen=True):
    """The norm of the gradient that the last backward left in each of these parameters, where it is finite."""

    node: tuple[int, ...]
    norm: tuple[float, ...]


class FindingView(Struct, frozen=True, omit_defaults=True):
    """A finding; ``nodes`` are those that it is about, the first excerpt of ``code`` has the culprit.

    ``changes`` are the lines of ``patch`` without its headers.
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


class StepFigure(Struct, frozen=True):
    """A figure of each training step: in words, and where it differs from step to step some of its ``values``.

    ``at`` are the steps of those, from 0 on; of a long run each value stands for a stretch, so that no spike is lost.
    """

    label: str
    said: str
    at: tuple[int, ...]
    values: tuple[int, ...]


class StepChange(Struct, frozen=True):
    """What was new in a step (from 1 on), and the line."""

    step: int
    said: str
    place: str


class Steps(Struct, frozen=True):
    """The training steps of a capture, ``count`` in all; ``untold``: so many more changes."""

    said: str
    count: int
    figures: tuple[StepFigure, ...]
    news: tuple[StepChange, ...]
    untold: int


Number = float | Literal["nan", "inf", "-inf"]
"""What JSON has no number for is a word."""


class VitalsRow(Struct, frozen=True):
    """A module in each step that is kept; null: not measured. ``path`` is its place in the models.

    ``peak``: the largest value of all steps, and ``peak_step`` the step that had it; null and -1: there is none.
    """

    label: str
    path: str
    values: tuple[Number | None, ...]
    peak: float | None
    peak_step: int


class Quantity(Struct, frozen=True):
    """One statistic of all modules; ``logarithmic``: over orders of magnitude, an exact zero told apart."""

    key: str
    title: str
    logarithmic: bool
    rows: tuple[VitalsRow, ...]


class MemoryLine(Struct, frozen=True):
    """Bytes of one kind in each step that is kept; null: not measured.

    Of the peak: ``ops``, what ran then, "" unknown, and ``sites``, where, -1 unknown.
    """

    label: str
    values: tuple[int | None, ...]
    ops: tuple[str, ...] = ()
    sites: tuple[int, ...] = ()


class CheckpointSaving(Struct, frozen=True):
    """Bytes for backward with checkpoints around these modules, named together: ``held`` and at most ``peak``.

    ``before``: without them. ``ops``: how many torch calls would run twice.
    """

    name: str
    modules: tuple[str, ...]
    type: str
    before: int
    held: int
    peak: int
    ops: int


class Vitals(Struct, frozen=True):
    """Statistics over the training steps. ``steps``: the numbers of those that are kept, of ``seen`` in all."""

    steps: tuple[int, ...]
    seen: int
    quantities: tuple[Quantity, ...]
    memory: tuple[MemoryLine, ...]
    updates: tuple[int, ...]
    """The updates of the loss scale that are kept, counted from 1, and the scale after each."""
    scale: tuple[Number, ...]
    checkpoints: tuple[CheckpointSaving, ...] = ()
    """The largest savings first."""


class Loss(Struct, frozen=True):
    """A loss, ``said`` with how often its gradient was added; ``site``: where backward() was called on it."""

    said: str
    site: int


class GradientOrigin(Struct, frozen=True):
    """One origin of the gradients of these ``parameters`` (rows of that table); ``remark``: what else is to be said."""

    parameters: tuple[int, ...]
    losses: tuple[Loss, ...]
    remark: str


class Wire(Struct, frozen=True):
    """Everything that the front end shows of one report."""

    wire: int
    head: Summary
    findings: tuple[FindingView, ...]
    optimizers: tuple[Optimizer, ...]
    by_device: tuple[ByteTotal, ...]
    by_dtype: tuple[ByteTotal, ...]
    strings: tuple[str, ...]
    nodes: Nodes
    grad_fns: GradFns
    saved: Saved
    edges: Edges
    ops: Ops
    inputs: Inputs
    outputs: Outputs
    writes: Writes
    tensors: Tensors
    sites: Sites
    chain: Chain
    frames: Frames
    calls: Calls
    regions: Regions
    events: Events
    parameters: Parameters
    state: State
    remarks: NodeNotes
    steps: Steps | None = None
    """None of a capture with fewer than three training steps."""
    gradients: tuple[GradientOrigin, ...] = ()
    """Which losses the gradients came from that parameters were last stepped with, as far as that is known."""
    pages: tuple[RulePage, ...] = ()
    """Of the rules that found something."""
    vitals: Vitals | None = None
    """None where no statistics were collected."""
    norms: GradientNorms | None = None
    """None where no values were read."""

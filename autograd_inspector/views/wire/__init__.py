"""What goes to the front end: one versioned record of tables, whose columns are numbers.

All text stands once in ``strings``; a column of text holds indices into it (-1: none). A column whose name is that of
another table holds how many of its rows belong to this row, in order. ``labextension/src/wire.ts`` is generated from
these records by ``scripts/wire_types.py``.
"""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.model.excerpt import CodeLine, Excerpt
from autograd_inspector.model.rule_page import RulePage, Section
from autograd_inspector.views.wire.figures import (
    CheckpointSaving,
    MemoryLine,
    Number,
    Quantity,
    StepChange,
    StepFigure,
    Steps,
    Vitals,
    VitalsRow,
)
from autograd_inspector.views.wire.findings import (
    FindingView,
)
from autograd_inspector.views.wire.header import (
    ByteTotal,
    GradientNorms,
    GradientOrigin,
    Loss,
    Optimizer,
    Summary,
)
from autograd_inspector.views.wire.packed import (
    Column,
    Packed,
    Width,
)
from autograd_inspector.views.wire.ranks import (
    RankChoice,
    RankLane,
    Ranks,
)
from autograd_inspector.views.wire.tables import (
    NODE_FLAGS,
    TENSOR_FLAGS,
    Calls,
    Chain,
    Edges,
    Events,
    Frames,
    GradFns,
    Inputs,
    NodeNotes,
    Nodes,
    Ops,
    Outputs,
    Parameters,
    Regions,
    Saved,
    Sites,
    State,
    Tensors,
    Writes,
)

__all__ = [
    "NODE_FLAGS",
    "TENSOR_FLAGS",
    "WIRE",
    "ByteTotal",
    "Calls",
    "Chain",
    "CheckpointSaving",
    "CodeLine",
    "Column",
    "Edges",
    "Events",
    "Excerpt",
    "FindingView",
    "Frames",
    "GradFns",
    "GradientNorms",
    "GradientOrigin",
    "Inputs",
    "Loss",
    "MemoryLine",
    "NodeNotes",
    "Nodes",
    "Number",
    "Ops",
    "Optimizer",
    "Outputs",
    "Packed",
    "Parameters",
    "Quantity",
    "RankChoice",
    "RankLane",
    "Ranks",
    "Regions",
    "RulePage",
    "Saved",
    "Section",
    "Sites",
    "State",
    "StepChange",
    "StepFigure",
    "Steps",
    "Summary",
    "Tensors",
    "Vitals",
    "VitalsRow",
    "Width",
    "Wire",
    "Writes",
]

WIRE = 1
"""Version of this form; a front end refuses any other."""


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
    ranks: Ranks | None = None
    """None of a single process."""

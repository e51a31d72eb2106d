"""The tables of one report, whose columns are numbers."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.views.wire.packed import Column


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
    """Values between nodes; "modified": from who saved a value to who modified it, ``cause`` has the versions."""

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

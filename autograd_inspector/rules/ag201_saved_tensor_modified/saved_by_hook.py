"""AG201 where no node that was looked at holds the modified tensor.

A saved-tensor hook holds it, as checkpointing installs one, or a node below the end of the walk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograd_inspector.advice.inplace_fixes import repair
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.in_place import kept_apart
from autograd_inspector.advice.spelling import assignable
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.saved_by_hooks import candidates, edits_since
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.torch_names import SAVES_INPUTS
from autograd_inspector.model.wording import join_names

_ERROR = re.compile(
    r"\[torch\.(?:\w+\.)?\w+ \[(?P<shape>[\d, ]*)\]\].*?is at version (?P<now>\d+); expected version (?P<then>\d+)"
)


_HISTORY = re.compile(r"which is output \d+ of (?P<node>[A-Za-z_]+?)\d*,")


def hidden_saver(analysis: Analysis, run: Backward) -> Iterator[Problem]:
    """Find the tensor by what the error says of it: its shape, and the versions that it had and has."""
    version_error = _ERROR.search(run.error)
    if version_error is None:
        return
    shape = tuple(int(size) for size in version_error["shape"].split(",") if size.strip())
    now, then = int(version_error["now"]), int(version_error["then"])
    history = _HISTORY.search(run.error)
    for op, tensor in candidates(analysis, run, shape, then, history["node"] if history is not None else ""):
        edits = edits_since(analysis, op, tensor, run, then, now)
        if edits:
            yield _finding(analysis, run, op, tensor, edits, now, then)
            return


def _finding(
    analysis: Analysis, run: Backward, saver: Op, tensor: int, edits: list[tuple[Op, Write]], now: int, then: int
) -> Problem:
    name = name_of(analysis, tensor)
    ops = [op for op, _ in edits]
    packed = any(saved.status == "packed" for node in analysis.nodes_of(run) for saved in node.saved)
    checkpointed = packed and not (saver.has(Trait.FUNCTION) and saver.name != f"{SAVES_INPUTS}.apply")
    by = "checkpoint(use_reentrant=False), for recomputation," if checkpointed else f"`{saver.name}`"
    spelled = join_names(f"`{op.name}`" for op in ops)
    copy = f"`{name} = {name}.clone()`" if assignable(name, analysis, tensor) else f"`.clone()` {name}"
    return Problem(
        "error",
        f"{name} was saved by {by} at version {then} and then modified in place by {spelled}: it is at version {now}, "
        f"expected version {then}",
        f"Work on a copy inside the checkpointed function: {copy} before `{ops[0].name}`."
        if checkpointed
        else repair(analysis, ops, name),
        analysis.places(
            *((op, "modified here") for op in ops),
            (saver, "made or read before here" if checkpointed else "saved here"),
            (run, "needed here"),
        ),
        (name, *dict.fromkeys(op.name for op in ops)),
        (
            f"{by} kept {name} at version {then}.",
            *(f"`{op.name}` moved it from version {w.before} to {w.after}." for op, w in edits[:12] if len(edits) > 1),
        ),
        tuple(op.index for op in ops[:64]),
        tuple(kept_apart(analysis, ops, run)),
    )

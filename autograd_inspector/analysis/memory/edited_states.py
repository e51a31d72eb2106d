"""Entries of a state_dict that are edited in place for another model, and are the tensors of the model they came from."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import calls_of
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD


class EditedState(Struct, frozen=True):
    """``taken`` made an alias of each tensor, ``edited`` wrote through it, ``loaded`` copied it into another model.

    ``used`` then computes with the edited tensors in their own model.
    """

    tensors: tuple[int, ...]
    taken: Op
    edited: Op
    loaded: Op
    used: Op


def edited_states(analysis: Analysis) -> Iterator[EditedState]:
    """One for each line that loads, of entries that it did not take itself, and of a model that goes on with the edits."""
    found: dict[int, list[tuple[int, Op, Op, Op, Op]]] = {}
    sites = analysis.capture.sites
    for op in calls_of(analysis.capture, "copy_"):
        if op.site >= 0 and sites[op.site].through == "Module.load_state_dict":
            edited = _edited(analysis, op)
            if edited is not None:
                found.setdefault(op.site, []).append(edited)
    for each in found.values():
        _, taken, last, loaded, used = each[0]
        yield EditedState(tuple(dict.fromkeys(tensor for tensor, *_ in each)), taken, last, loaded, used)


def _edited(analysis: Analysis, loaded: Op) -> tuple[int, Op, Op, Op, Op] | None:
    """(parameter or buffer, what took its alias, the last edit of that, the load, what computes with it next)."""
    capture = analysis.capture
    target, entry = (capture.tensors[tensor] for tensor in loaded.inputs)
    taken = capture.ops[entry.birth] if entry.birth >= 0 else None
    if taken is None or not is_a(taken.name, OpKind.ALIASES) or taken.site < 0 or entry.storage in {-1, target.storage}:
        return None
    if capture.sites[taken.site].through != "Module.state_dict" or not taken.inputs:
        return None
    writes = analysis.writes_back(entry.storage, taken.index + 1, loaded.index)
    edit = next((op for op, write in writes if write.tensor == entry.id and not op.has(_ASIDE)), None)
    used = _used(analysis, taken.inputs[0], loaded.index) if edit is not None else None
    return (taken.inputs[0], taken, edit, loaded, used) if edit is not None and used is not None else None


def _used(analysis: Analysis, tensor: int, since: int) -> Op | None:
    """The next op of a module's call that computes with it, where nothing writes to it before but a step."""
    capture = analysis.capture
    readers = (capture.ops[at] for at in capture.readers.get(tensor, ()) if at > since and capture.ops[at].call >= 0)
    used = next((op for op in readers if not op.writes), None)
    if used is None:
        return None
    written = analysis.writes_to(capture.tensors[tensor].storage, tensor, since, used.index)
    return None if any(not op.has(_ASIDE) for op, _ in written) else used

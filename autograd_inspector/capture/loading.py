"""``optimizer.load_state_dict``: what it was given, what it made of it, why it refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.graph_walk import short
from autograd_inspector.capture.spread import elsewhere, state_of
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import Change, ChangeKind

if TYPE_CHECKING:
    from autograd_inspector.capture.optimizers import Optimizers


class _Load:
    """A state_dict on its way into an optimizer: its dtypes, group sizes, and the exception being handled then.

    ``owners`` are, for each position, the parameters that the saved state is the living state of, where it is any's.
    """

    def __init__(
        self, dtypes: dict[str, str], sizes: list[int], owners: dict[int, int], handled: BaseException | None
    ) -> None:
        self.dtypes = dtypes
        self.sizes = sizes
        self.owners = owners
        self.handled = handled


class Loads:
    """Notes each load as a change of the optimizer."""

    def __init__(self, tape: Tape, optimizers: Optimizers) -> None:
        self.tape = tape
        self._optimizers = optimizers

    def begin(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Load:
        """What is about to be loaded."""
        given = args[1] if len(args) > 1 else kwargs.get("state_dict", {})
        sizes = [len(group.get("params", ())) for group in given.get("param_groups", ())]
        return _Load(_dtypes(given.get("state", {})), sizes, self._owners(given), sys.exc_info()[1])

    def _owners(self, given: Any) -> dict[int, int]:
        """Position -> parameter, of state that is still some optimizer's own."""
        living = {
            id(value): self.tape.id_of(parameter)
            for _, optimizer in self._optimizers.alive()
            for parameter, state in state_of(optimizer).items()
            if isinstance(state, dict)
            for value in state.values()
            if isinstance(value, Tensor)
        }
        order = [key for group in given.get("param_groups", ()) for key in group.get("params", ())]
        found = {}
        for position, key in enumerate(order):
            entries = given.get("state", {}).get(key)
            for value in entries.values() if isinstance(entries, dict) else ():
                if id(value) in living:
                    found[position] = living[id(value)]
        return found

    def end(self, optimizer: Optimizer, _args: Any, _kwargs: Any, load: _Load | None) -> None:
        """It is loaded, or was refused."""
        tape = self.tape
        raised = sys.exc_info()[1]
        if load is not None and raised is not None and raised is not load.handled:
            own = [len(group["params"]) for group in optimizer.param_groups]
            sizes = (f"saved groups: {load.sizes}", f"own groups: {own}")
            detail = (f"error: {raised}", *sizes, f"saved state: {', '.join(load.dtypes)}")
            api = f"{type(optimizer).__name__}.load_state_dict()"
            number = self._optimizers.id_of(optimizer)
            ids = tuple(t for group in tape.optimizers[number].parameters for t in group)
            tape.changes.append(
                Change(len(tape.ops), "optimizer_load_failed", api, tape.stacks.here(0), ids, number, detail)
            )
            return
        number = self._optimizers.id_of(optimizer)
        self._optimizers.changed(optimizer, number)
        after = _dtypes(state_of(optimizer))
        cast = tuple(
            f"{name}: {dtype} -> {after[name]}"
            for name, dtype in (load.dtypes if load is not None else {}).items()
            if name in after and after[name] != dtype and name != "step"
        )
        ids = tuple(t for group in tape.optimizers[number].parameters for t in group)
        tape.changes.append(
            Change(
                len(tape.ops),
                "optimizer_load_state_dict",
                f"{type(optimizer).__name__}.load_state_dict()",
                tape.stacks.here(0),
                ids,
                number,
                cast,
            )
        )
        self._optimizers.snapshot(optimizer, number)
        self._mismatched(optimizer, number, ids, load.owners if load is not None else {})

    def _mismatched(self, optimizer: Optimizer, number: int, ids: tuple[int, ...], owners: dict[int, int]) -> None:
        """Note state that went to another parameter than it came from, and parameters that got none."""
        tape = self.tape
        swapped = [
            (ids[at], owner) for at, owner in owners.items() if at < len(ids) and ids[at] != owner and owner in ids
        ]
        flat = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        state, others = state_of(optimizer), elsewhere(optimizer)
        absent = [p for p in flat if p.requires_grad and not state.get(p) and id(p) not in others]
        noted: tuple[tuple[ChangeKind, tuple[int, ...]], ...] = (
            ("state_swapped", tuple(t for pair in swapped for t in pair)),
            ("state_absent", tuple(map(tape.id_of, absent)) if len(absent) < len(flat) - len(others) else ()),
        )
        for kind, tensors in noted:
            if tensors:
                api = f"{type(optimizer).__name__}.load_state_dict()"
                tape.changes.append(Change(len(tape.ops), kind, api, tape.stacks.here(0), tensors, number))


def _dtypes(state: Any) -> dict[str, str]:
    """The dtype of each kind of state entry ("exp_avg": "float32")."""
    found: dict[str, str] = {}
    for entries in state.values() if hasattr(state, "values") else ():
        if isinstance(entries, dict):
            for name, value in entries.items():
                if isinstance(value, Tensor):
                    found.setdefault(str(name), short(value.dtype))
    return found

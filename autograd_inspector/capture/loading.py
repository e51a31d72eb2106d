"""``optimizer.load_state_dict``: what it was given, what it made of it, why it refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.graph_walk import short
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import Change

if TYPE_CHECKING:
    from autograd_inspector.capture.optimizers import Optimizers


class _Load:
    """A state_dict on its way into an optimizer: its dtypes, group sizes, and the exception being handled then."""

    def __init__(self, dtypes: dict[str, str], sizes: list[int], handled: BaseException | None) -> None:
        self.dtypes = dtypes
        self.sizes = sizes
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
        return _Load(_dtypes(given.get("state", {})), sizes, sys.exc_info()[1])

    def end(self, optimizer: Optimizer, _args: Any, _kwargs: Any, load: _Load | None) -> None:
        """It is loaded, or was refused."""
        tape = self.tape
        raised = sys.exc_info()[1]
        if load is not None and raised is not None and raised is not load.handled:
            own = [len(group["params"]) for group in optimizer.param_groups]
            detail = (f"error: {raised}", f"saved groups: {load.sizes}", f"own groups: {own}")
            api = f"{type(optimizer).__name__}.load_state_dict()"
            number = self._optimizers.id_of(optimizer)
            ids = tuple(t for group in tape.optimizers[number].parameters for t in group)
            tape.changes.append(
                Change(len(tape.ops), "optimizer_load_failed", api, tape.stacks.here(0), ids, number, detail)
            )
            return
        number = self._optimizers.id_of(optimizer)
        self._optimizers.changed(optimizer, number)
        after = _dtypes(optimizer.state)
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


def _dtypes(state: Any) -> dict[str, str]:
    """The dtype of each kind of state entry ("exp_avg": "float32")."""
    found: dict[str, str] = {}
    for entries in state.values() if hasattr(state, "values") else ():
        if isinstance(entries, dict):
            for name, value in entries.items():
                if isinstance(value, Tensor):
                    found.setdefault(str(name), short(value.dtype))
    return found

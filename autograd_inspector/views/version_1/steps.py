"""Optimizer steps: version 1 did not keep what each parameter was to the step, but what tells it."""

from __future__ import annotations

from typing import Any

_META = "meta"


def of_steps(capture: Any) -> dict[str, Any]:
    """The steps with each parameter's group, and whether it was frozen, or had its state on meta."""
    if not capture.get("steps"):
        return {}
    placement = capture.get("placement", {})
    groups = {
        (optimizer["id"], tensor): number
        for optimizer in placement.get("optimizers", [])
        for number, tensors in reversed(list(enumerate(optimizer.get("parameters", []))))
        for tensor in tensors
    }
    dataless = {(row.get("optimizer", -1), row["tensor"]) for row in placement.get("rows", []) if _dataless(row)}
    wanted = {tensor["id"]: tensor["requires_grad"] for tensor in capture.get("tensors", [])}
    changes: dict[int, list[Any]] = {}
    for change in capture.get("leaf_changes", []):
        changes.setdefault(change["tensor"], []).append(change)

    def parameter(step: Any, old: Any) -> dict[str, Any]:
        tensor, held = old["tensor"], (step["optimizer"], old["tensor"])
        requires_grad = _at(step.get("start", step["at"]), wanted[tensor], changes.get(tensor, []))
        return {**old, "group": groups.get(held, -1), "frozen": not requires_grad, "dataless": held in dataless}

    return {
        "steps": [
            step | {"parameters": [parameter(step, old) for old in step.get("parameters", [])]}
            for step in capture["steps"]
        ]
    }


def _dataless(row: Any) -> bool:
    return row["device"] != _META and any(entry["device"] == _META for entry in row.get("state", []))


def _at(moment: int, finally_wanted: bool, changes: list[Any]) -> bool:  # noqa: FBT001
    """``requires_grad`` of a leaf at an op index."""
    wanted = finally_wanted
    for change in reversed(changes):
        if change["at"] <= moment:
            return bool(change["requires_grad"])
        wanted = not change["requires_grad"]
    return wanted

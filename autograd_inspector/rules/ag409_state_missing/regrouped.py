"""AG409 where a load was refused although no parameter is new: only the groups are other ones."""

from __future__ import annotations

import re

from autograd_inspector.advice.names import summarize_names
from autograd_inspector.advice.optimizer_snippets import HOMES
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizer_names import TARGET, variable
from autograd_inspector.model.event import Change
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.placement_rows import OptimizerRecord

_SIZES = re.compile(r"^(saved|own) groups: \[([\d, ]*)\]$")


def regrouped(change: Change) -> bool:
    """Whether the checkpoint's groups hold as many parameters as the optimizer's, all together."""
    sizes = _sizes(change)
    return len(sizes) > 1 and sum(sizes["saved"]) == sum(sizes["own"])


def _sizes(change: Change) -> dict[str, list[int]]:
    found = filter(None, map(_SIZES.match, change.detail))
    return {match[1]: [int(size) for size in match[2].split(",") if size.strip()] for match in found}


def other_groups(analysis: Analysis, change: Change, optimizer: OptimizerRecord, names: list[str]) -> Problem:
    """State hangs on parameters, groups only number them: so it can be handed over."""
    sizes = _sizes(change)
    return Problem(
        "error",
        f"{change.api} refused the checkpoint: it has as many parameters, but in other groups ({sizes['saved']} were saved, "
        f"{sizes['own']} are here); the optimizer holds {summarize_names(names)}",
        _handed_over(analysis, change, optimizer, sizes["saved"]),
        dedupe_locations(
            [
                *analysis.user_frames(change.site, "loaded here"),
                *analysis.user_frames(optimizer.site, "optimizer made here"),
            ]
        ),
        tuple(dict.fromkeys(names)),
    )


def _handed_over(analysis: Analysis, change: Change, optimizer: OptimizerRecord, saved: list[int]) -> str:
    made = _one_group(analysis, change, optimizer, saved)
    return (
        f"{made}, and hand its state over: `{variable(analysis, optimizer)}.state.update(old.state)`. The new groups keep their own "
        "settings."
    )


def _one_group(analysis: Analysis, change: Change, optimizer: OptimizerRecord, saved: list[int]) -> str:
    """Statements that load into an optimizer of the saved groups; its settings come with the checkpoint."""
    load = "`old.load_state_dict(checkpoint)`"
    owners = {analysis.capture.owners.get(tensor, -1) for tensor in change.tensors}
    model = analysis.capture.models[next(iter(owners))] if len(owners) == 1 and -1 not in owners else ""
    all_of = [t for t, root in analysis.capture.owners.items() if root in owners]
    home = next((prefix for module, prefix in HOMES.items() if optimizer.module.startswith(module)), "")
    if not TARGET.fullmatch(model) or [len(all_of)] != saved or not home:
        return f"Load into an optimizer `old` that has the groups of the checkpoint ({load})"
    return f"Load into an optimizer of one group, `old = {home}{optimizer.type}({model}.parameters())`, {load}"

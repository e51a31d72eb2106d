"""AG409 where a load was refused although no parameter is new: only the groups are other ones."""

from __future__ import annotations

import re

from autograd_inspector.model.event import Change
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.placement import OptimizerRecord
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.optimizers.pasted import HOMES, TARGET, variable
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique

_SIZES = re.compile(r"^(saved|own) groups: \[([\d, ]*)\]$")


def regrouped(change: Change) -> bool:
    """Whether the checkpoint's groups hold as many parameters as the optimizer's, all together."""
    sizes = _sizes(change)
    return len(sizes) > 1 and sum(sizes["saved"]) == sum(sizes["own"])


def _sizes(change: Change) -> dict[str, list[int]]:
    found = filter(None, map(_SIZES.match, change.detail))
    return {match[1]: [int(size) for size in match[2].split(",") if size.strip()] for match in found}


def other_groups(facts: Facts, change: Change, optimizer: OptimizerRecord, names: list[str]) -> Finding:
    """State hangs on parameters, groups only number them: so it can be handed over."""
    sizes = _sizes(change)
    return Finding(
        "AG409",
        "state-missing",
        "error",
        f"{change.api} refused the checkpoint: it has as many parameters, but in other groups ({sizes['saved']} were saved, "
        f"{sizes['own']} are here); the optimizer holds {folded(names)}",
        _handed_over(facts, change, optimizer, sizes["saved"]),
        unique([*facts.chain(change.site, "loaded here"), *facts.chain(optimizer.site, "optimizer made here")]),
        tuple(dict.fromkeys(names)),
    )


def _handed_over(facts: Facts, change: Change, optimizer: OptimizerRecord, saved: list[int]) -> str:
    made = _one_group(facts, change, optimizer, saved)
    return (
        f"{made}, and hand its state over: `{variable(facts, optimizer)}.state.update(old.state)`. The new groups keep their own "
        "settings."
    )


def _one_group(facts: Facts, change: Change, optimizer: OptimizerRecord, saved: list[int]) -> str:
    """Statements that load into an optimizer of the saved groups; its settings come with the checkpoint."""
    load = "`old.load_state_dict(checkpoint)`"
    owners = {facts.capture.owners.get(tensor, -1) for tensor in change.tensors}
    model = facts.capture.models[next(iter(owners))] if len(owners) == 1 and -1 not in owners else ""
    all_of = [t for t, root in facts.capture.owners.items() if root in owners]
    home = next((prefix for module, prefix in HOMES.items() if optimizer.module.startswith(module)), "")
    if not TARGET.fullmatch(model) or [len(all_of)] != saved or not home:
        return f"Load into an optimizer `old` that has the groups of the checkpoint ({load})"
    return f"Load into an optimizer of one group, `old = {home}{optimizer.type}({model}.parameters())`, {load}"

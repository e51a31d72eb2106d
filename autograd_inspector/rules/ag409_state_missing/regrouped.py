"""AG409 where a load was refused although no parameter is new: only the groups are other ones."""

from __future__ import annotations

from autograd_inspector.advice.optimizer_snippets import HOMES
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import TARGET, variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import LoadRefused
from autograd_inspector.model.wording import summarize_names


def regrouped(load: LoadRefused) -> bool:
    """Whether the checkpoint's groups hold as many parameters as the optimizer's, all together."""
    return sum(load.saved_groups) == sum(load.own_groups)


def other_groups(analysis: Analysis, load: LoadRefused, optimizer: OptimizerRecord, names: list[str]) -> Problem:
    """State hangs on parameters, groups only number them: so it can be handed over."""
    return Problem(
        "error",
        f"{load.api} refused the checkpoint: it has as many parameters, but in different groups (saved: "
        f"{list(load.saved_groups)}, here: {list(load.own_groups)}); the optimizer holds {summarize_names(names)}",
        _handed_over(analysis, load, optimizer),
        analysis.places((load, "loaded here"), (optimizer, "optimizer created here")),
        tuple(names),
    )


def _handed_over(analysis: Analysis, load: LoadRefused, optimizer: OptimizerRecord) -> str:
    made = _one_group(analysis, load, optimizer)
    return (
        f"{made}, and copy its state: `{variable(analysis, optimizer)}.state.update(old.state)`. The new groups keep their "
        "settings."
    )


def _one_group(analysis: Analysis, load: LoadRefused, optimizer: OptimizerRecord) -> str:
    """Statements that load into an optimizer of the saved groups; its settings come with the checkpoint."""
    call = "`old.load_state_dict(checkpoint)`"
    owners = {analysis.capture.owners.get(tensor, -1) for tensor in load.tensors}
    model = analysis.capture.models[next(iter(owners))] if len(owners) == 1 and -1 not in owners else ""
    all_of = [t for t, root in analysis.capture.owners.items() if root in owners]
    home = next((prefix for module, prefix in HOMES.items() if optimizer.module.startswith(module)), "")
    if not TARGET.fullmatch(model) or (len(all_of),) != load.saved_groups or not home:
        return f"Load into an optimizer `old` that has the groups of the checkpoint ({call})"
    return f"Load into an optimizer of one group, `old = {home}{optimizer.type}({model}.parameters())`, {call}"

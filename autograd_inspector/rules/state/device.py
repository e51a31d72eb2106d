"""AG401: optimizer state that is not on its parameter's device."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.placement import OptimizerRecord
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.checkpoints.before_load import before_loading
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.optimizers.pasted import state_moved
from autograd_inspector.rules.state.misplaced import Misplaced, entries, made_by_own_step, misplaced
from autograd_inspector.rules.wording.names import folded, joined


@rule("AG401", "state-device")
def state_device(facts: Facts) -> Iterator[Finding]:
    """Optimizer state that is not on its parameter's device (a CPU `step` counter is fine unless fused or capturable).

    Why it matters
        `model.to(device)` moves parameters and leaves optimizer state behind. Adam raises at the next step; SGD with
        momentum on another device may not even do that.

    Example
        ::

            optimizer.load_state_dict(checkpoint)
            for state in optimizer.state.values():
                state["exp_avg"] = state["exp_avg"].to("meta")
            optimizer.step()

    Fix
        ::

            optimizer.load_state_dict(checkpoint)
            optimizer.step()

    References
        torch.optim.Optimizer.load_state_dict (it moves state to its parameter's device).
    """
    yield from before_loading(facts, "AG401")
    for optimizer in facts.capture.placement.optimizers:
        wrong = [(row, entry) for row, entry in entries(facts, optimizer, device=True) if entry.device != row.device]
        if wrong:
            yield misplaced(facts, "AG401", "state-device", optimizer, wrong, _device_text(facts, optimizer, wrong))


def _device_text(facts: Facts, optimizer: OptimizerRecord, wrong: list[Misplaced]) -> tuple[str, str]:
    row, entry = wrong[0]
    kinds = joined(dict.fromkeys(e.name for _, e in wrong), 4)
    names = folded(r.name for r, _ in wrong)
    moved = state_moved(facts, optimizer, [r for r, _ in wrong])
    own = made_by_own_step(facts, optimizer, wrong)
    return (
        f"{kinds} of {names} {'is' if len(wrong) == 1 else 'are'} on {entry.device} while the parameters are on "
        f"{row.device}",
        "Make the state of each parameter like the parameter: `torch.zeros_like(p)`, or with `device=p.device`."
        if own
        else "Move the model first, then build the optimizer and load its state. "
        + (f"For the state that is there now: `{moved}`." if moved else "State on meta has no data: load it again."),
    )

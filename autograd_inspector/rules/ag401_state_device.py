"""AG401: optimizer state that is not on its parameter's device."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.before_load.devices import device_problems
from autograd_inspector.advice.before_load.problems import before_loading
from autograd_inspector.advice.misplaced_state import Misplaced, entries, made_by_own_step, misplaced
from autograd_inspector.advice.optimizer_snippets import state_moved
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.wording import agree, join_names, summarize_names


def check(analysis: Analysis) -> Iterator[Problem]:
    """Optimizer state that is not on its parameter's device (a CPU `step` counter is fine unless fused or capturable).

    Why it matters
        `model.to(device)` moves parameters but not optimizer state. Adam raises at the next step; SGD with momentum on
        another device may not even raise.

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
    yield from before_loading(analysis, device_problems)
    for optimizer in analysis.capture.placement.optimizers:
        misplaced_entries = [
            (row, entry) for row, entry in entries(analysis, optimizer, device=True) if entry.device != row.device
        ]
        if misplaced_entries:
            yield misplaced(
                analysis,
                optimizer,
                misplaced_entries,
                _device_text(analysis, optimizer, misplaced_entries),
                always=True,
            )


def _device_text(analysis: Analysis, optimizer: OptimizerRecord, misplaced_entries: list[Misplaced]) -> tuple[str, str]:
    row, entry = misplaced_entries[0]
    kinds = join_names(dict.fromkeys(e.name for _, e in misplaced_entries), 4)
    names = summarize_names(r.name for r, _ in misplaced_entries)
    moved = state_moved(analysis, optimizer, [r for r, _ in misplaced_entries])
    made_by_step = made_by_own_step(analysis, optimizer, misplaced_entries)
    return (
        f"{kinds} of {names} {agree(misplaced_entries, 'is', 'are')} on {entry.device} while the parameters are on {row.device}",
        "Create the state of each parameter with `torch.zeros_like(p)`, or with `device=p.device`."
        if made_by_step
        else "Move the model first, then build the optimizer and load its state. "
        + (f"To move the existing state: `{moved}`." if moved else "State on meta has no data: load it again."),
    )

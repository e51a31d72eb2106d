"""AG409: optimizer state that is missing, or that a load refused."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.before_load.groups import group_problems
from autograd_inspector.advice.before_load.names import name_problems, no_optimizer
from autograd_inspector.advice.before_load.problems import before_loading
from autograd_inspector.advice.names import summarize_names
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizer_loads import is_refusal, loads_of
from autograd_inspector.analysis.state_lines import assigned_by_program
from autograd_inspector.model.event import Change
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.rules.ag409_state_missing.regrouped import other_groups, regrouped
from autograd_inspector.rules.ag409_state_missing.tensor_keys import state_key


def check(analysis: Analysis) -> Iterator[Problem]:
    """Some parameters have state, others that step have none; or a load was refused because the groups differ.

    Why it matters
        After a resume, parameters without state start again with zero moments while the rest continue. When a group
        has more parameters than the checkpoint's, nothing is loaded at all. An optimizer that makes its state when it is
        built has none for what is unfrozen later.

    Example
        ::

            checkpoint = torch.optim.Adam(net[1:].parameters()).state_dict()
            torch.optim.Adam(net.parameters()).load_state_dict(checkpoint)

    Fix
        ::

            checkpoint = torch.optim.Adam(net[1:].parameters()).state_dict()
            optimizer = torch.optim.Adam(net[1:].parameters())
            optimizer.load_state_dict(checkpoint)
            optimizer.add_param_group({"params": net[0].parameters()})

    References
        torch.optim.Optimizer.load_state_dict, torch.optim.Optimizer.add_param_group.
    """
    yield from before_loading(analysis, name_problems, no_optimizer, group_problems)
    yield from state_key(analysis)
    for change in analysis.capture.changes:
        if change.kind == "optimizer_load_failed" and any(is_refusal(text) for text in change.detail):
            yield from _refused(analysis, change)
        elif change.kind == "state_absent":
            stepped = {
                p.tensor
                for s in analysis.capture.steps
                if s.optimizer == change.optimizer
                for p in s.parameters
                if p.gradient >= 0
            }
            bare = [t for t in change.tensors if t in stepped]
            if bare:
                yield _missing(
                    analysis,
                    analysis.capture.placement.optimizers[change.optimizer],
                    [analysis.display_name(t) for t in bare],
                )


def _refused(analysis: Analysis, change: Change) -> Iterator[Problem]:
    """The saved groups have other sizes: name what was unfrozen or added since."""
    capture = analysis.capture
    thawed = [
        c for c in capture.requires_grad_changes if c.requires_grad and c.tensor in change.tensors and c.at <= change.at
    ]
    added = [] if thawed else _added(analysis, change)
    new = [c.tensor for c in thawed] or [t for c in added for t in c.tensors] or list(change.tensors)
    names = [analysis.display_name(t) for t in new]
    sizes = " and ".join(text for text in change.detail if "groups" in text)
    what = "began to require grad since" if thawed else "came to the model since"
    what = (
        f"; {summarize_names(names)} {what}" if thawed or added else f"; the optimizer holds {summarize_names(names)}"
    )
    optimizer = capture.placement.optimizers[change.optimizer]
    if not thawed and not added and regrouped(change):
        yield other_groups(analysis, change, optimizer, names)
        return
    yield Problem(
        "error",
        f"{change.api} refused the checkpoint: its groups hold other numbers of parameters ({sizes}){what}",
        "Build the optimizer with the parameters that it had when the checkpoint was written, load, and then call "
        "add_param_group({'params': [...]}) for the new ones.",
        dedupe_locations(
            [
                *(place for c in thawed[-2:] for place in analysis.user_frames(c.site, "unfrozen here")),
                *(place for c in added[-2:] for place in analysis.user_frames(c.site, "added here")),
                *analysis.user_frames(change.site, "loaded here"),
            ]
        ),
        tuple(dict.fromkeys(names)),
    )


def _added(analysis: Analysis, change: Change) -> list[Change]:
    """What the model got after an optimizer had already been made, that of the checkpoint presumably."""
    before = analysis.capture.changes[: analysis.capture.changes.index(change)]
    first = next((i for i, c in enumerate(before) if c.kind == "optimizer_created"), len(before))
    return [c for c in before[first:] if c.kind == "registered" and set(c.tensors) & set(change.tensors)]


def _missing(analysis: Analysis, optimizer: OptimizerRecord, names: list[str]) -> Problem:
    return Problem(
        "warning",
        f"{optimizer.type}: {summarize_names(names)} {'has' if len(names) == 1 else 'have'} no state after loading while the other "
        "parameters do: their moments start from zero",
        "Check that the checkpoint was written with the same parameters in the same order.",
        dedupe_locations(
            [
                *loads_of(analysis, optimizer),
                *assigned_by_program(analysis, optimizer),
                *analysis.user_frames(optimizer.site, "optimizer made here"),
            ]
        ),
        tuple(dict.fromkeys(names)),
    )

"""AG407: parameters that are stepped twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.optimizer_snippets import collected
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.selections import collected_at, selected_at
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import ParametersRefused
from autograd_inspector.model.remedy import Operand, Remedies, Remove
from autograd_inspector.model.rewrites import OthersLeftOut
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag407_duplicate_parameter.in_buffers import buffers_on_parameters
from autograd_inspector.rules.ag407_duplicate_parameter.one_memory import on_one_memory
from autograd_inspector.rules.ag407_duplicate_parameter.repeated_module import one_module_in_a_list
from autograd_inspector.rules.ag407_duplicate_parameter.shallow_copy import shallow_copies
from autograd_inspector.rules.ag407_duplicate_parameter.shared_state import one_state_for_several
from autograd_inspector.rules.ag407_duplicate_parameter.state_of_two import one_state_for_two
from autograd_inspector.rules.ag407_duplicate_parameter.undone_tie import no_longer_tied


def check(analysis: Analysis) -> Iterator[Problem]:
    """A parameter is in an optimizer or a module list twice, in two optimizers with one gradient, or shares memory.

    Why it matters
        A duplicate is updated twice per step, with two momentum buffers. Concatenating `parameters()` of modules that
        share a weight causes it. A parameter created on another one's memory (`b.data = a.data`, `nn.Parameter(a.t())`)
        changes with every update of the other parameter. A buffer that was registered without a copy of a parameter,
        to hold a mask or a mean, overwrites it. Replacing a module whose weight another one shares (`wte` of a
        tied `lm_head`) leaves two parameters. `nn.ModuleList([layer] * 3)` lists one layer three times: an
        ensemble built this way has one member. State that an optimizer's class makes once and gives to several
        parameters gathers the statistics of all of them, and so does state that `load_state_dict()` takes over from
        another optimizer that still steps.

    Example
        ::

            head.weight = embedding.weight
            optimizer = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
            head(embedding(i)).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            head.weight = embedding.weight
            optimizer = torch.optim.SGD(nn.ModuleList([embedding, head]).parameters(), lr=0.1)
            head(embedding(i)).pow(2).mean().backward()
            optimizer.step()

    References
        torch.nn.Module.parameters (it yields a shared parameter once).
    """
    for optimizer in analysis.capture.placement.optimizers:
        flat = list(optimizer.held)
        twice = [t for t in dict.fromkeys(flat) if flat.count(t) > 1] if len(flat) != len(set(flat)) else []
        if twice:
            names, idle = [name_of(analysis, t) for t in twice], _never_stepped(analysis, optimizer, twice)
            aliases = [name for t in twice for name in analysis.capture.display_names.every_name_of(t)]
            yield Problem(
                "info" if idle else "warning",
                f"{optimizer.type} holds duplicate parameters: {summarize_names(names)} "
                f"{agree(names, 'is', 'are')} listed twice"
                + (" but not stepped here, without a gradient" if idle else " and stepped twice per step()"),
                "Collect parameters from one parent module (its parameters() yields a shared parameter once), or deduplicate: "
                "list(dict.fromkeys(params)).",
                dedupe_locations(
                    [
                        *analysis.user_frames(optimizer.site, "passed to the optimizer twice here"),
                        *collected_at(analysis, optimizer.site),
                    ]
                ),
                (*names, *aliases),
                cures=_each_once(analysis, optimizer),
                safe=True,
            )
    yield from _refused(analysis)
    yield from _two_optimizers(analysis)
    yield from on_one_memory(analysis)
    yield from buffers_on_parameters(analysis)
    yield from one_module_in_a_list(analysis)
    yield from no_longer_tied(analysis)
    yield from shallow_copies(analysis)
    yield from one_state_for_several(analysis)
    yield from one_state_for_two(analysis)


def _never_stepped(analysis: Analysis, optimizer: OptimizerRecord, tensors: list[int]) -> bool:
    """Whether the optimizer stepped, and none of the parameters had a gradient at any step: they were frozen."""
    steps = analysis.timeline.steps_of(optimizer.id).all
    moved = {p.tensor for step in steps for p in step.parameters if p.gradient >= 0}
    return bool(steps) and moved.isdisjoint(tensors) and analysis.received_gradient.isdisjoint(tensors)


def _refused(analysis: Analysis) -> Iterator[Problem]:
    """An optimizer raised: another of its groups has the parameter already."""
    for refusal in analysis.capture.events_of(ParametersRefused):
        if not says(analysis.capture.error, TorchError.IN_SEVERAL_GROUPS) or not refusal.tensors:
            continue
        names = [name_of(analysis, t) for t in refusal.tensors]
        yield Problem(
            "error",
            f"{refusal.api} refused duplicate parameters: {summarize_names(names)} {agree(names, 'is', 'are')} already in "
            "another of its groups",
            _left_out_once(analysis, refusal),
            dedupe_locations(
                [
                    *analysis.user_frames(refusal.site, "passed to the optimizer a second time here"),
                    *selected_at(analysis, refusal.site),
                    *collected_at(analysis, refusal.site),
                ]
            ),
            tuple(names),
            cures=() if refusal.added else at_line(analysis, refusal.site, OthersLeftOut),
        )


def _left_out_once(analysis: Analysis, refusal: ParametersRefused) -> str:
    """What to do with parameters that a second group may not have, in the program's own names."""
    if refusal.added:
        return (
            "The optimizer already has them: set that group's lr (`optimizer.param_groups[i]['lr'] = ...`), or leave them "
            "out when building the optimizer and add them here."
        )
    collection, model = collected(analysis, refusal.tensors)
    general = (
        f": `own = set(map(id, {collection})); rest = [p for p in {model}.parameters() if id(p) not in own]`"
        if collection
        else ""
    )
    return f"Leave them out of the general group{general}."


def _two_optimizers(analysis: Analysis) -> Iterator[Problem]:
    """Shared between optimizers that step with one and the same gradient.

    An optimizer that steps after a backward of its own is meant: one loss and then another, or training in phases.
    """
    optimizers = analysis.capture.placement.optimizers
    shared: dict[tuple[int, int], list[int]] = {}
    for tensor, holders in analysis.timeline.held_by_several.items():
        for pair in combinations(holders, 2):
            shared.setdefault(pair, []).append(tensor)
    for pair in sorted(shared):
        one, other = (optimizers[number] for number in pair)
        twice = sorted(t for t in shared[pair] if _same_gradient(analysis, t, (one.id, other.id)))
        if twice:
            names = [name_of(analysis, t) for t in twice]
            yield Problem(
                "warning",
                f"{summarize_names(names)} {agree(names, 'is', 'are')} a duplicate: in {one.type} and in {other.type}, "
                "which both step with the same gradient",
                "Pass each parameter to one optimizer only.",
                dedupe_locations(
                    [
                        *analysis.places(
                            (one, "first optimizer created here"), (other, "second optimizer created here")
                        ),
                        *collected_at(analysis, one.site),
                        *collected_at(analysis, other.site),
                    ]
                ),
                tuple(names),
                cures=tuple(_one_steps(analysis, one, other)),
            )


def _one_steps(analysis: Analysis, one: OptimizerRecord, other: OptimizerRecord) -> Iterator[Remedies]:
    """Of two optimizers the later one, which holds nothing else, does not step."""
    if set(other.held) <= set(one.held):
        sites = dict.fromkeys(step.site for step in analysis.timeline.steps_of(other.id).all)
        yield from (
            (Remove(place, "step"),) for site in list(sites)[:1] for place in analysis.user_frames(site, "")[:1]
        )


def _same_gradient(analysis: Analysis, tensor: int, pair: tuple[int, int]) -> bool:
    """Whether steps of both met one gradient, the same tensor, with nothing computed or assigned to it in between."""
    capture = analysis.capture
    steps = [
        (step.at, step.optimizer, p.gradient)
        for step in capture.steps
        if step.optimizer in pair
        for p in step.parameters
        if p.tensor == tensor and p.gradient >= 0
    ]
    new = [run.start for run in capture.backwards if run.api == "backward" and tensor in run.reached]
    new += [write.at for write in analysis.timeline.writes_of(tensor).all if write.gradient >= 0]
    return any(
        one != other and gradient == same and not any(before < at <= after for at in new)
        for (before, one, gradient), (after, other, same) in pairwise(steps)
    )


def _each_once(analysis: Analysis, optimizer: OptimizerRecord) -> tuple[Remedies, ...]:
    place = analysis.capture.place(optimizer.site)
    if place is None or len(optimizer.groups) != 1:
        return ()
    return ((Operand(place, "argument", "list(dict.fromkeys({}))"),),)

"""AG306 where a hook stays on a parameter that was replaced, or copied: it never runs."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.hooks_left_behind import hooks_left_behind, hooks_lost_in_loads
from autograd_inspector.analysis.gradients.hooks_not_copied import hooks_not_copied
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import SetArgument
from autograd_inspector.model.wording import agree, summarize_names


def on_the_old_parameter(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each parameter that was replaced."""
    for found in hooks_left_behind(analysis):
        name, hook = name_of(analysis, found.replaced.tensor), short_name(found.hook.name)
        yield Problem(
            "warning",
            f"the hook {hook} is on the tensor that {name} was before it was replaced: the hook never runs, and {name} gets its gradient "
            "without it",
            f"Register the hook after {name} is replaced, or keep the Parameter and change its values: `copy_()` under torch.no_grad().",
            analysis.places((found.replaced, "replaced here"), (found.hook, "hook registered here, before")),
            (name, hook),
        )


def on_what_a_load_replaced(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each load with assign=True, and each place that registers hooks."""
    for found in hooks_lost_in_loads(analysis):
        names, hook = names_of(analysis, found.tensors), short_name(found.hook.name)
        gets, their = agree(names, "gets", "get"), agree(names, "its gradient", "their gradients")
        yield Problem(
            "warning",
            f"load_state_dict(assign=True) replaces {summarize_names(names)}, and the hook {hook} stays on the old "
            f"{agree(names, 'parameter', 'parameters')}: {summarize_names(names)} {gets} {their} without the hook",
            "Load without `assign=True`, which keeps the parameters and their hooks; or register the hook after the load.",
            analysis.places((found.loaded, "replaced here"), (found.hook, "hook registered here, before")),
            (*names, hook, "assign"),
            cures=tuple(
                (SetArgument(place, "load_state_dict", "assign", ""),)
                for place in analysis.user_frames(found.loaded.site, "")[:1]
            ),
        )


def on_the_original(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that registers hooks on parameters of which only copies are trained."""
    for (_, _, hook), group in grouped(
        hooks_not_copied(analysis), lambda found: (found.hook.site, found.copied.site, short_name(found.hook.name))
    ).items():
        copies = [copy for found in group for copy in found.copies]
        names = names_of(analysis, copies)
        were = agree(names, "was", "were")
        yield Problem(
            "warning",
            f"the hook {hook} is on {agree(group, 'the parameter', 'the parameters')} that {summarize_names(names)} {were} copied "
            f"from: a copy of a tensor has no hooks, and only {agree(copies, 'the copy is', 'the copies are')} trained, so "
            "the hook never runs",
            "Register the hook on the parameter of each copy: copy.deepcopy() does not copy the hooks of a tensor.",
            analysis.places(
                (group[0].copied, "copied here, without its hooks"), (group[0].hook, "hook registered here, before")
            ),
            (*names, hook, "deepcopy"),
        )

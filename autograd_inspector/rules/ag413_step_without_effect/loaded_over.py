"""AG413: an option that the program sets, and that the groups of a loaded state overwrite before any step uses it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.options_loaded_over import options_loaded_over
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Insert
from autograd_inspector.model.wording import summarize_names


def loaded_over(analysis: Analysis) -> Iterator[Problem]:
    """An info for each optimizer: who resumes a run may want its options, and not those of the constructor."""
    for found in options_loaded_over(analysis):
        option, optimizer = found.option, analysis.capture.placement.optimizers[found.loaded.optimizer]
        name, place = variable(analysis, optimizer), analysis.capture.place(found.loaded.site)
        names = names_of(analysis, optimizer.parameters[option.group])
        setting = f'{name}.param_groups[{option.group}]["{option.option}"] = {option.before:g}'
        yield Problem(
            "info",
            f"{found.loaded.api} replaces the {option.option} {option.before:g} of {summarize_names(names)} by {option.after:g}, which "
            "the saved param_groups contain; no step uses the value that the program set",
            f"To train with the new value, set it after the load: `{setting}`.",
            analysis.places(
                (found.loaded, f"{option.option} replaced here"),
                (optimizer, "optimizer created here"),
                (found.saved, "optimizer state saved here"),
                (found.step, "step() called here, with the saved value"),
            ),
            (option.option, optimizer.type, *names),
            ops=(found.step.op,),
            cures=((Insert(place, setting, "behind"),),) if place is not None else (),
        )

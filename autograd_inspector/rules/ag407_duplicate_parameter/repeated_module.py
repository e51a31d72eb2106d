"""AG407 where a list of modules has one module several times."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.repeated import Repeated, repeated_modules
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import EachItsOwn
from autograd_inspector.model.wording import join_names

_NAMED = 4


def one_module_in_a_list(analysis: Analysis) -> Iterator[Problem]:
    """A warning where the copies can never differ; a hint where they are used one after the other, as in ALBERT."""
    for found in repeated_modules(analysis):
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: Repeated) -> Problem:
    names = [analysis.capture.display_names.registered(path) for path in found.paths]
    parameters = [name_of(analysis, tensor) for tensor in found.event.tensors]
    what = f"{join_names(names, _NAMED)} are the same module, with one set of parameters"
    places = analysis.user_frames(found.event.site, f"added to the {found.event.type} several times here")
    cures = at_line(analysis, found.event.site, EachItsOwn)
    if found.calls:
        return Problem(
            "warning",
            f"{what}, and each forward calls it {len(found.calls)} times with the same inputs: the results are all equal",
            "Create a module for each entry, in a comprehension: `nn.ModuleList([make() for _ in range(n)])`, or "
            "`copy.deepcopy(module)`.",
            places,
            (*names[:_NAMED], *parameters),
            cures=cures,
        )
    return Problem(
        "info",
        f"{what}: the list adds computation, but no trainable parameters",
        "If they should differ, create a module for each entry, in a comprehension: "
        "`nn.ModuleList([make() for _ in range(n)])`, or `copy.deepcopy(module)`. If sharing the parameters is intended, "
        "nothing needs to change.",
        places,
        (*names[:_NAMED], *parameters),
        cures=cures,
    )

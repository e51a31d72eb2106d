"""AG303 where a network is its own target: the loss is at its minimum, whatever the parameters are."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.own_targets import OwnTarget, own_targets
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.rewrites import OwnCopy


def own_target(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that compares the two."""
    for found in own_targets(analysis):
        value, target = name_of(analysis, found.value), name_of(analysis, found.target)
        same = target == value or "[" in target or "[" in value
        both = f"{value} and its target" if same else f"{value} and {target}"
        yield Problem(
            "warning",
            f"`{found.compared.name}` compares {both}, which the same parameters compute from the same input: the two are always equal, "
            "and the gradient is zero",
            "Compute the target with another model, such as a copy with its own weights (`teacher = copy.deepcopy(student)`), or "
            "from another view of the input.",
            analysis.places(
                (found.named, "another name for the same model"),
                (found.again, "target computed here"),
                (found.made, "the same value computed here"),
                (found.compared, "compared here"),
            ),
            tuple(dict.fromkeys((value, target))),
            ops=(found.compared.index,),
            cures=tuple(_cures(analysis, found)),
        )


def _cures(analysis: Analysis, found: OwnTarget) -> Iterator[Remedies]:
    """The other name is that of a copy."""
    places = () if found.named is None else analysis.user_frames(found.named.site, "")[:1]
    yield from ((OwnCopy(place),) for place in places)

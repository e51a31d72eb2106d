"""AG306 where a flat tensor is taken apart in another order than it was put together in."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.flat_order import flat_orders
from autograd_inspector.model.finding import Problem


def in_another_order(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that gives the parts back."""
    for found in flat_orders(analysis):
        yield Problem(
            "error",
            f"{name_of(analysis, found.tensor)} gets the part of the flat tensor that holds the values of "
            f"{name_of(analysis, found.owner)}: `{found.joined.name}` joins the parameters in another order than they are "
            "written back in",
            "Loop over the same list of parameters, in the same order, in both places.",
            analysis.places((found.site, "written back here"), (found.joined, "joined here, in another order")),
            tuple(names_of(analysis, found.wrong)),
            ops=(found.joined.index,),
        )

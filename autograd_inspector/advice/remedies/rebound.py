"""A leaf that the optimizer holds stays the one that the program computes with: new values are written into it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.rebound import Rebound
from autograd_inspector.model.remedy import Remedies, WriteInto


def written_into_leaf(name: str) -> str:
    """The advice."""
    return f"Write the new values into {name} under torch.no_grad(), with copy_ or in place: the optimizer holds that tensor."


def kept_leaf(analysis: Analysis, found: Rebound) -> Iterator[Remedies]:
    """The line that made the replacement writes into the leaf."""
    yield from at_line(analysis, found.made.site, lambda place: WriteInto(place, recorded=True))

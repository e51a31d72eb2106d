"""A change of one line: that of the program which a site names."""

from __future__ import annotations

from collections.abc import Callable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.remedy_base import Remedy


def at_line(analysis: Analysis, site: int, change: Callable[[Location], Remedy]) -> tuple[Remedies, ...]:
    """The change at the innermost line of the program; none where the site has no line."""
    return tuple((change(place),) for place in analysis.user_frames(site, "")[:1])

"""The lines that clip gradients."""

from __future__ import annotations

import math

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.model.torch_names import CLIPPING


def clipping_sites(analysis: Analysis) -> dict[int, tuple[str, int]]:
    """Sites of the calls of torch's clipping functions and their lines; an infinite limit measures, it does not clip.

    Clipping switches the grad mode off, which is all that is seen of it where there is nothing to read.
    """
    capture = analysis.capture
    limits: dict[int, list[float]] = {region.site: [] for region in capture.regions if region.library == CLIPPING}
    for read in capture.grad_reads:
        if read.clips >= 0:
            limits.setdefault(read.site, []).append(read.clips)
    lines = {site: line_of(analysis, site) for site in limits}
    measuring = {lines[site] for site, site_limits in limits.items() if site_limits and min(site_limits) == math.inf}
    return {site: line for site, line in lines.items() if line is not None and line not in measuring}

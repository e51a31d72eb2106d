"""AG106: a branch that was frozen while it was zero: no input of it is trainable, and it adds nothing."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.zero_factors import ZeroFactor, zero_factors
from autograd_inspector.analysis.modules.parameter_origins import frozen_here, made_here
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def frozen_at_zero(analysis: Analysis) -> Iterator[Problem]:
    """A hint: one finding for all that one line froze."""
    by_site: dict[int, list[ZeroFactor]] = {}
    for found in zero_factors(analysis):
        by_site.setdefault(analysis.lifecycle.frozen([found.tensor])[-1].site, []).append(found)
    for factors in by_site.values():
        tensors = [found.tensor for found in factors]
        names = names_of(analysis, tensors)
        yield Problem(
            "info",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} frozen while all of {agree(names, 'its', 'their')} values "
            f"are zero: `{factors[0].product.name}` returns zeros at every step, so this branch contributes nothing and is never trained",
            f"If the branch is an adapter, let {agree(names, 'it', 'them')} require grad, and give "
            f"{agree(names, 'it', 'them')} to the optimizer: check the names that select the frozen parameters.",
            (
                *frozen_here(analysis, tensors),
                *analysis.places((factors[0].product, "multiplied by zeros here")),
                *made_here(analysis, tensors),
            ),
            tuple(names),
            ops=(factors[0].product.index,),
        )

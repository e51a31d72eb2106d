"""AG409 where a step raised a KeyError: the state was made before an option asked for more of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.catalogue import Facts, folded, unique

_KEY = re.compile(r"KeyError: '(\w+)'$")
_OPTIONS = {"max_exp_avg_sq": "amsgrad", "momentum_buffer": "momentum", "grad_avg": "centered"}
"""State of torch's own optimizers -> the option that asks for it."""


def state_key(facts: Facts) -> Iterator[Finding]:
    """The last step looked for a key that the state of its parameters does not have."""
    capture = facts.capture
    found = _KEY.match(capture.error)
    step = capture.steps[-1] if capture.steps else None
    if found is None or step is None or not step.error:
        return
    key = found[1]
    rows = [row for row in capture.placement.rows if row.optimizer == step.optimizer and row.state]
    names = [row.name for row in rows if key not in {entry.name for entry in row.state}]
    if not names:
        return
    optimizer = capture.placement.optimizers[step.optimizer]
    option = _OPTIONS.get(key, "")
    lines = [c for c in capture.changes if c.kind == "option_set" and c.detail[0] == (option or c.detail[0])]
    option = option or (lines[0].detail[0] if lines else "")
    why = f": {option} was switched on after the state had been made without it" if option and lines else ""
    given = f"Pass {option} to {optimizer.type}() when it is made" if option else "Set its options when it is made"
    yield Finding(
        "AG409",
        "state-missing",
        "error",
        f"{optimizer.type}.step() looks for {key} in the state of {folded(names)}, which has none{why}",
        f"{given}; or start these parameters with fresh state: `optimizer.state.pop(parameter)`.",
        unique(
            [
                *(place for c in lines for place in facts.chain(c.site, "option set here")),
                *facts.chain(step.site, "step() raised here"),
                *facts.chain(optimizer.site, "optimizer made here"),
            ]
        ),
        tuple(dict.fromkeys([*names, key])),
    )

"""AG306 where an optimizer keeps the gradient itself in its state, without a copy: the next backward changes both."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.in_state import gradients_in_state
from autograd_inspector.analysis.optimizers.state_lines import assigned_by_program, made_by_class
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Substitute
from autograd_inspector.model.wording import agree, summarize_names


def kept_in_state(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer and entry.

    The same gradient tensor served two steps at least. A new one in each step leaves the kept one as it is.
    """
    for (number, entry), tensors in gradients_in_state(analysis).items():
        optimizer = analysis.capture.placement.optimizers[number]
        names = [name_of(analysis, tensor) for tensor in tensors]
        steps = analysis.timeline.steps_of(number).all
        made = made_by_class(analysis, optimizer, [entry]) or assigned_by_program(analysis, optimizer, [entry])
        yield Problem(
            "warning",
            f"{entry} in the state of {optimizer.type} is the same tensor as the .grad of {summarize_names(names)}: "
            f"backward() and zero_grad() change {entry}, and step() changes {agree(names, 'the gradient', 'the gradients')}",
            f"Keep a copy: `state[{entry!r}] = p.grad.clone()`.",
            (*made, *analysis.user_frames(steps[-1].site if steps else -1, "step() called here")),
            (*dict.fromkeys(names), entry),
            ops=(steps[-1].op,) if steps else (),
            cures=tuple((Substitute(place, "", "{}.clone()"),) for place in made[:1]),
        )

"""AG306: gradients that a hook or an assignment changed."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.left_out import left_out
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.assigned import replaced_gradients, shared_gradients
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Substitute
from autograd_inspector.model.wording import summarize_names
from autograd_inspector.rules.ag306_gradient_rewritten.another_order import in_another_order
from autograd_inspector.rules.ag306_gradient_rewritten.compiled_before import compiled_before
from autograd_inspector.rules.ag306_gradient_rewritten.dropped import dropped_each_time
from autograd_inspector.rules.ag306_gradient_rewritten.duplicate_hooks import piled_up
from autograd_inspector.rules.ag306_gradient_rewritten.given_to_another import for_another
from autograd_inspector.rules.ag306_gradient_rewritten.grad_reference_kept import overwritten
from autograd_inspector.rules.ag306_gradient_rewritten.hooks import (
    edited_in_hook,
    zeroed_by_hook,
    zeroed_by_module_hook,
    zeroed_on_the_way,
)
from autograd_inspector.rules.ag306_gradient_rewritten.idle_hooks import after_backward, on_what_nobody_reads
from autograd_inspector.rules.ag306_gradient_rewritten.kept_in_state import kept_in_state
from autograd_inspector.rules.ag306_gradient_rewritten.late_variables import with_the_last_value
from autograd_inspector.rules.ag306_gradient_rewritten.left_behind import (
    on_the_old_parameter,
    on_the_original,
    on_what_a_load_replaced,
)
from autograd_inspector.rules.ag306_gradient_rewritten.passed_by import without_a_call
from autograd_inspector.rules.ag306_gradient_rewritten.post_hooks import emptied_by_hook
from autograd_inspector.rules.ag306_gradient_rewritten.refused import refused
from autograd_inspector.rules.ag306_gradient_rewritten.refused_results import refused_results
from autograd_inspector.rules.ag306_gradient_rewritten.reversed_for_all import reversed_on_all_paths
from autograd_inspector.rules.ag306_gradient_rewritten.sign_lost import without_sign


def check(analysis: Analysis) -> Iterator[Problem]:
    """A tensor hook, or a write to `.grad` outside backward and step, zeroed, replaced, exchanged or aliased a gradient.

    Why it matters
        The optimizer uses a different gradient than backward computed. Two parameters that share one gradient tensor
        accumulate into each other. A `.grad` that is kept without a copy changes when the next backward adds to it:
        `[p.grad for p in net.parameters()]` does not record the old values. Hooks created in a loop look up the loop
        variable when they run, so all of them find its last value. Gradients that are joined to one flat tensor and written
        back in another order go to the wrong parameters. A forward hook runs only where its module is called, not where
        `module.forward(x)` or its children are.

    Example
        ::

            first(x).pow(2).mean().backward()
            second.weight.grad = first.weight.grad
            optimizer.step()

    Fix
        ::

            first(x).pow(2).mean().backward()
            second.weight.grad = first.weight.grad.clone()
            optimizer.step()

    References
        torch.Tensor.register_hook ("the hook should not modify its argument"); torch.Tensor.grad.
    """
    yield from refused(analysis)
    yield from refused_results(analysis)
    yield from _aliased(analysis)
    yield from _replaced(analysis)
    yield from in_another_order(analysis)
    yield from for_another(analysis)
    yield from overwritten(analysis)
    yield from kept_in_state(analysis)
    yield from without_sign(analysis)
    yield from zeroed_by_hook(analysis)
    yield from zeroed_by_module_hook(analysis)
    yield from zeroed_on_the_way(analysis)
    yield from edited_in_hook(analysis)  # Whatever way a hook makes a gradient zero, the hook is to blame.
    yield from emptied_by_hook(analysis)
    yield from piled_up(analysis)
    yield from dropped_each_time(analysis)
    yield from with_the_last_value(analysis)
    yield from on_the_old_parameter(analysis)
    yield from on_what_a_load_replaced(analysis)
    yield from reversed_on_all_paths(analysis)
    yield from compiled_before(analysis)
    yield from on_the_original(analysis)
    yield from after_backward(analysis)
    yield from on_what_nobody_reads(analysis)
    yield from without_a_call(analysis)


def _aliased(analysis: Analysis) -> Iterator[Problem]:
    """One gradient tensor under two parameters."""
    for site, pairs in shared_gradients(analysis).items():
        new, old = ([name_of(analysis, pair[i]) for pair in pairs] for i in (0, 1))
        yield Problem(
            "warning",
            f"the .grad of {summarize_names(new)} is the same tensor as the .grad of {summarize_names(old)}: they accumulate into each "
            "other, and clearing or clipping one changes the other",
            "Assign a copy: `.grad.clone()`.",
            analysis.user_frames(site, "aliased here"),
            (*new, *old),
            cures=at_line(analysis, site, lambda place: Substitute(place, "", "{}.clone()")),
        )


def _replaced(analysis: Analysis) -> Iterator[Problem]:
    """Between backward and step, ``.grad`` was assigned something that no gradient went into."""
    for site, members in replaced_gradients(analysis).items():
        names = [name_of(analysis, tensor) for tensor, _, _ in members]
        yield Problem(
            "warning",
            f"the .grad of {summarize_names(names)} was replaced between backward() and step() by the result of "
            f"`{members[0][1].name}`, which does not depend on a gradient",
            "Drop the assignment, or compute the new gradient from the one that backward left.",
            analysis.places((site, "replaced here"), (members[0][2], "step() uses it here")),
            tuple(names),
            cures=tuple(left_out(analysis, site)),
        )

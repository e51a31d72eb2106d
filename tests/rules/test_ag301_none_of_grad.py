"""AG301: `autograd.grad` gave None, and the program used it as a gradient."""

from __future__ import annotations

from contextlib import suppress

import torch

from .programs import diagnosed, inspected, summary


def inner(update):
    w, unused = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    loss = w.pow(2).sum()
    grads = torch.autograd.grad(loss, [w, unused], allow_unused=True)  # Asked.
    return update([w, unused], grads)


def test_none_that_ends_the_program():
    """What has no gradient is named, and both lines."""
    finding = diagnosed(
        lambda: inner(lambda params, grads: [p - 0.1 * g for p, g in zip(params, grads, strict=True)]),
        "AG301",
        "# Asked.",
        "unused",
        "materialize_grads",
        severity="error",
        where=inner,
    )
    assert "w," not in finding.subjects


def test_none_that_is_looked_at():
    """The program leaves it out, or falls over a None of its own afterwards."""

    def leaves_out(params, grads):
        return [p if g is None else p - 0.1 * g for p, g in zip(params, grads, strict=True)]

    report = inspected(lambda: inner(leaves_out))
    assert report.findings == (), summary(report)

    def another_none():
        inner(leaves_out)
        with suppress(KeyError):
            return 1 + {}.get("rate")

    assert not any(finding.rule == "AG301" for finding in inspected(another_none).findings)

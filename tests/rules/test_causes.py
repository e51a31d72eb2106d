"""Ignoring findings, and merging those of one cause."""

from __future__ import annotations

from contextlib import suppress

import torch
from torch import nn

import autograd_inspector
from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.causes import merged


def failing(times: int) -> autograd_inspector.Report:
    """Backwards that raise for the same reason at the same line, and are caught."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        for _ in range(times):
            y = w.exp()
            y.mul_(2)
            with suppress(RuntimeError):
                y.sum().backward()
    return inspection.report


def test_what_happens_again_at_a_line_is_one_finding():
    """Backward fails in each round and the program catches it: one finding, which shows the ops of all rounds."""
    (once,), (often,) = failing(1).findings, failing(3).findings
    assert (often.rule, often.message, often.details) == (once.rule, once.message, once.details)
    assert len(often.ops) == 3 * len(once.ops)


def detached(ignore: tuple[str, ...] = ()) -> autograd_inspector.Report:
    """A head that learns while its encoder starves."""
    encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    with autograd_inspector.inspect(ignore=ignore) as inspection:
        hidden = encoder(torch.randn(2, 3)).detach()
        head(hidden).sum().backward()
        optimizer.step()
    return inspection.report


def test_finding_is_ignored_by_code_or_prefix_and_counted():
    """`ignore=` takes codes and prefixes; the report says how many findings it left out."""
    assert [f.rule for f in detached().findings] == ["AG101"]
    for codes in (("AG101",), ("AG1",)):
        report = detached(codes)
        assert report.findings == ()
        assert report.ignored == 1
    assert [f.rule for f in detached(("AG2",)).findings] == ["AG101"]


def test_finding_is_ignored_by_a_comment_on_the_culprit_line():
    """A trailing comment on the culprit's line silences the rules that it names, and no others."""
    encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    x = torch.randn(2, 3)
    with autograd_inspector.inspect() as named:
        hidden = encoder(x).detach()  # autograd-inspect: ignore[AG101]
        head(hidden).sum().backward()
        optimizer.step()
    optimizer.zero_grad()
    with autograd_inspector.inspect() as other:
        hidden = encoder(x).detach()  # autograd-inspect: ignore[AG406, AG2]
        head(hidden).sum().backward()
        optimizer.step()
    optimizer.zero_grad()
    with autograd_inspector.inspect() as every:
        hidden = encoder(x).detach()  # autograd-inspect: ignore
        head(hidden).sum().backward()
        optimizer.step()
    assert (named.report.findings, named.report.ignored) == ((), 1)
    assert [f.rule for f in other.report.findings] == ["AG101"]
    assert (every.report.findings, every.report.ignored) == ((), 1)


def test_what_follows_from_a_cause_is_told_with_it():
    """A parameter that starves because of a cut is a consequence of the cut; other parameters keep their finding."""
    cut = Finding("AG101", "detached", "warning", "cut", subjects=("a.weight", "a.bias"))
    same = Finding("AG301", "no-gradient", "warning", "starved", subjects=("a.weight",))
    other = Finding("AG301", "no-gradient", "warning", "starved too", subjects=("b.weight",))
    first, second = merged([cut, same, other])
    assert first.consequences == ("AG301 no-gradient: starved",)
    assert second == other


def test_a_cause_may_stand_behind_what_follows_from_it():
    """Whichever is found first, the one that follows becomes a line of the other."""
    after = Finding("AG305", "gradient-protocol", "warning", "no gradient", subjects=("a",))
    cause = Finding("AG405", "orphan-in-optimizer", "warning", "replaced", subjects=("b", "a"))
    for given in ([after, cause], [cause, after]):
        (left,) = merged(given)
        assert left.rule == "AG405"
        assert left.consequences == ("AG305 gradient-protocol: no gradient",)


def test_a_hint_explains_no_warning():
    """What does no harm by itself is no cause of what does."""
    hint = Finding("AG101", "detached", "info", "one of two ways is cut", subjects=("a",))
    zero = Finding("AG303", "zero-gradient", "warning", "zero", subjects=("a",))
    assert merged([hint, zero]) == [hint, zero]

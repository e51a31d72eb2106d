"""AG502: a hook that holds the tensor that it is registered on keeps the graph of each step."""

from __future__ import annotations

import torch
from torch import nn

from .programs import alarms, diagnosed, inspected
from .twins import calm

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


def train(hooked, rounds=5):
    first, last = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    scores, kept = [], []
    for _ in range(rounds):
        optimizer.zero_grad()
        out = first(X).tanh()
        handle = hooked(out, scores, kept)
        last(out).pow(2).mean().backward()
        optimizer.step()
        if callable(handle):
            handle()


def closed_over(out, scores, _kept):
    out.register_hook(lambda grad: scores.append((out * grad).detach().mean()))  # hook


def by_default(out, scores, _kept):
    powers = out.exp()

    def hook(grad, activation=powers):
        scores.append((activation * grad).detach().mean())

    out.register_hook(hook)


def test_hooks_that_hold_their_tensor():
    """In a variable around the hook, or one computed from it as a default; the line of register_hook comes first."""
    found = diagnosed(
        lambda: train(closed_over), "AG502", "# hook", "register_hook", "cycle", severity="warning", where=closed_over
    )
    assert found.locations[0].role == "hook registered here"
    (found,) = alarms(inspected(lambda: train(by_default)))
    assert "holds that tensor, or one computed from it" in found.message


def test_hooks_that_hold_a_copy():
    """A detached copy, a hook that is removed after backward, and one that holds another tensor."""

    def copy(out, scores, _kept):
        value = out.detach()
        out.register_hook(lambda grad: scores.append((value * grad).mean()))

    def removed(out, scores, _kept):
        return out.register_hook(lambda grad: scores.append((out * grad).detach().mean())).remove

    def input_alone(out, scores, _kept):
        out.register_hook(lambda grad: scores.append((X * grad).mean()))

    calm(*(lambda hooked=hooked: train(hooked) for hooked in (copy, removed, input_alone)))


def test_a_list_beside_hooks():
    """Of what a list keeps, with a hook that holds a copy, the hook is not said to keep it."""

    def listed(out, scores, kept):
        value = out.detach()
        out.register_hook(lambda grad: scores.append((value * grad).mean()))
        kept.append(out)

    (found,) = alarms(inspected(lambda: train(listed)))
    assert found.rule == "AG502"
    assert "hook" not in found.message

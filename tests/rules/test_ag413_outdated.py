"""AG413: a temperature learns, and the losses go on with the number that was read from it before."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def program(refresh=lambda log_alpha, alpha, step: alpha, rounds=5, own=True, first=lambda t: t.exp().item()):
    """Entropy-regularised training; ``refresh`` returns the weight for the next round."""
    net = nn.Linear(4, 3)
    log_alpha = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    of_alpha = torch.optim.Adam([log_alpha], lr=0.01)
    alpha = first(log_alpha)
    for step in range(rounds):
        log_p = net(X).log_softmax(-1)
        entropy = -(log_p.exp() * log_p).sum(-1).mean()
        loss = log_p[:, 0].mean() - alpha * entropy
        if not own:
            loss = loss + log_alpha.exp().squeeze()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        of_alpha.zero_grad()
        (log_alpha * (entropy.detach() - 0.5)).mean().backward()
        of_alpha.step()
        alpha = refresh(log_alpha, alpha, step)


def test_number_read_before_the_loop():
    """The weight stays 1, whatever becomes of its logarithm."""
    found = diagnosed(program, "AG413", "first=lambda t: t.exp().item()", "log_alpha", ".item()", severity="warning")
    assert "of_alpha.step()" in "".join(place.source for place in found.locations)


def test_number_read_again():
    """After each step, every other step, or as a tensor."""
    calm(
        lambda: program(lambda log_alpha, _alpha, _step: log_alpha.exp().item()),
        lambda: program(lambda log_alpha, alpha, step: log_alpha.exp().item() if step % 2 else alpha),
        lambda: program(lambda log_alpha, _alpha, _step: log_alpha.exp().detach(), first=lambda t: t.exp().detach()),
        lambda: program(lambda log_alpha, _alpha, _step: 0.5 * log_alpha.exp().item()),
        lambda: program(lambda log_alpha, _alpha, _step: max(log_alpha.exp().item(), 0.1)),
    )


def test_too_few_steps_to_tell():
    """The number may be read again later."""
    calm(lambda: program(rounds=3))


def test_parameter_that_others_use_as_well():
    """A reference to how it began, beside its own value."""
    calm(lambda: program(own=False))

"""AG305: gradients that the loss of a learned weight leaves in what it weighs."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.distributions import Normal

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def soft_actor(*, detach=False, clear=False, alpha_steps_last=False):
    actor = nn.Linear(4, 1)
    log_alpha = torch.zeros((), requires_grad=True)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
    alpha_opt = torch.optim.Adam([log_alpha], lr=1e-2)
    for _ in range(2):
        dist = Normal(actor(X), 1.0 + actor(X).pow(2))
        action = dist.rsample()
        log_prob = dist.log_prob(action)
        actor_opt.zero_grad()
        (log_alpha.exp().detach() * log_prob + action.pow(2)).mean().backward(retain_graph=True)
        if clear:
            actor_opt.step()
            actor_opt.zero_grad()
        gap = (log_prob.detach() if detach else log_prob) + 1.0
        alpha_loss = -(log_alpha.exp() * gap).mean()  # product
        alpha_opt.zero_grad()
        alpha_loss.backward()
        for optimizer in [actor_opt, alpha_opt] if alpha_steps_last else [alpha_opt, actor_opt]:
            if not clear or optimizer is alpha_opt:
                optimizer.step()


@pytest.mark.parametrize("alpha_steps_last", [False, True])
def test_temperature_of_an_actor(alpha_steps_last):
    """The actor steps with what the temperature's loss left, whichever steps first; a detached one leaves nothing."""
    diagnosed(
        lambda: soft_actor(alpha_steps_last=alpha_steps_last),
        "AG305", "# product", "actor.weight", "log_alpha", "gap", severity="warning", where=soft_actor,
    )  # fmt: skip
    calm(lambda: soft_actor(detach=True, alpha_steps_last=alpha_steps_last))


def test_gradients_that_are_cleared_before_they_are_used():
    """The actor steps before, and clears what is left after."""
    calm(lambda: soft_actor(clear=True, alpha_steps_last=True))


def test_head_of_one_number_and_its_own_optimizer():
    """Two tasks with a shared encoder: a bias of one number is no factor."""

    def program():
        encoder, head, bias = nn.Linear(4, 2), nn.Linear(2, 1), nn.Parameter(torch.zeros(1))
        shared = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
        own = torch.optim.SGD([bias], lr=0.1)
        for _ in range(2):
            shared.zero_grad()
            own.zero_grad()
            h = encoder(X).tanh()
            head(h).pow(2).mean().backward(retain_graph=True)
            (h[:, :1] + bias).pow(2).mean().backward()
            own.step()
            shared.step()

    calm(program)

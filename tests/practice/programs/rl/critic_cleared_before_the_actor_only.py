"""TD3: the actor's backward leaves gradients in the critic, which the critic's next step consumes."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 1), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
    critic_opt = torch.optim.SGD(critic.parameters(), lr=1e-1)
    seen = []
    for _ in range(3):
        obs, action, reward = torch.randn(8, 3), torch.randn(8, 1), torch.randn(8, 1)
        critic_loss = (critic(torch.cat([obs, action], 1)) - reward).pow(2).mean()
        alone = torch.autograd.grad(critic_loss, list(critic.parameters()), retain_graph=True)
        critic_loss.backward()
        seen.append(torch.equal(critic[0].weight.grad, alone[0]))
        critic_opt.step()
        critic_opt.zero_grad()
        actor_loss = -critic(torch.cat([obs, actor(obs)], 1)).mean()
        actor_opt.zero_grad()
        actor_loss.backward()  # cause
        actor_opt.step()
    return seen


def verify(out):
    assert out == [True, False, False]


TRUTH = Truth(
    fault="the critic steps on gradients of the actor's loss",
    repair=("actor_loss.backward()\ncritic_opt.zero_grad()",),
)

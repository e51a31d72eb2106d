"""The learner sends its weights to the actor, which receives them into copies of its own."""

import torch
import torch.distributed as dist
from torch import nn

from tests.distributed.truth import Truth


def setup():
    global policy, opt, g
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2) if dist.get_rank() == 0 else None
    g = torch.Generator().manual_seed(3)
    torch.manual_seed(7)


def send_weights():
    for value in policy.state_dict().values():
        dist.send(value, 1)


def receive_weights():
    for value in policy.state_dict().values():
        dist.recv(value.clone(), 0)  # cause


@torch.no_grad()
def act():
    s = torch.randn(16, 4, generator=g)
    a = torch.distributions.Categorical(logits=policy(s)).sample()
    r = (a == (s[:, 0] > 0).long()).float()
    for t in (s, a, r):
        dist.send(t, 0)


def learn():
    s, a, r = torch.empty(16, 4), torch.empty(16, dtype=torch.long), torch.empty(16)
    for t in (s, a, r):
        dist.recv(t, 1)
    logp = torch.distributions.Categorical(logits=policy(s)).log_prob(a)
    loss = -(logp * (r - r.mean())).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()


def run():
    for _ in range(3):
        if dist.get_rank():
            act()
            receive_weights()
        else:
            learn()
            send_weights()
    return round(policy[0].weight.sum().item(), 5)


TRUTH = Truth(fault="what the actor receives is thrown away", rule="AG601", names=("recv",), where="any")

"""TD3+BC: the weight of the policy term divides by the mean size of the critic's own values, as a constant."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def net(i, o):
    return nn.Sequential(nn.Linear(i, 24), nn.ReLU(), nn.Linear(24, o))


def soft_update(source, target, tau):
    for p, tp in zip(source.parameters(), target.parameters()):
        tp.data.copy_(tau * p.data + (1 - tau) * tp.data)


def run():
    torch.manual_seed(0)
    data = {"s": torch.randn(64, 3) * 2 + 1, "s2": torch.randn(64, 3) * 2 + 1, "r": torch.randn(64, 1)}
    data["a"] = torch.tanh(data["s"][:, :2])
    mean, std = data["s"].mean(0, keepdim=True), data["s"].std(0, keepdim=True) + 1e-3
    data["s"].sub_(mean).div_(std)
    data["s2"].sub_(mean).div_(std)
    actor, critic = net(3, 2), net(5, 1)
    actor_t, critic_t = copy.deepcopy(actor), copy.deepcopy(critic)
    a_opt = torch.optim.Adam(actor.parameters(), 3e-3)
    c_opt = torch.optim.Adam(critic.parameters(), 3e-3)
    first = {k: v.clone() for k, v in actor.state_dict().items()}
    bc_losses = []
    for it in range(1, 5):
        idx = torch.randint(64, (16,))
        s, a, r, s2 = (data[k][idx] for k in ("s", "a", "r", "s2"))
        with torch.no_grad():
            a2 = (torch.tanh(actor_t(s2)) + (0.2 * torch.randn_like(a)).clamp(-0.5, 0.5)).clamp(-1, 1)
            y = r + 0.99 * critic_t(torch.cat([s2, a2], 1))
        c_loss = F.mse_loss(critic(torch.cat([s, a], 1)), y)
        c_opt.zero_grad(set_to_none=False)
        c_loss.backward()
        c_opt.step()
        if it % 2 == 0:
            pi = torch.tanh(actor(s))
            Q = critic(torch.cat([s, pi], 1))
            lmbda = 2.5 / Q.abs().mean().detach()
            bc = F.mse_loss(pi, a)
            a_loss = -lmbda * Q.mean() + bc
            a_opt.zero_grad()
            a_loss.backward()
            a_opt.step()
            bc_losses.append(bc.item())
            soft_update(critic, critic_t, 0.005)
            soft_update(actor, actor_t, 0.005)
    return first, actor, bc_losses


TRUTH = Truth()


def verify(out):
    first, actor, bc_losses = out
    assert all(not torch.equal(v, first[k]) for k, v in actor.state_dict().items())
    assert len(bc_losses) == 2 and max(bc_losses) < 10

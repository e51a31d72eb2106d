"""IQL: three nets, each with targets from the others that carry no gradient; weights of the policy are clamped."""

import copy

import torch
from torch import nn
from torch.distributions import Normal

from tests.practice.truth import Truth


def expectile(diff, tau=0.7):
    return torch.where(diff > 0, tau, 1 - tau) * diff.pow(2)


class GaussianPolicy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, act))
        self.log_std = nn.Parameter(torch.zeros(act))

    def forward(self, o):
        return Normal(torch.tanh(self.net(o)), self.log_std.clamp(-5.0, 2.0).exp())


def run():
    torch.manual_seed(0)
    qf = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    vf = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
    policy = GaussianPolicy(3, 2)
    q_target = copy.deepcopy(qf).requires_grad_(False)
    v_opt, q_opt = torch.optim.Adam(vf.parameters(), 3e-3), torch.optim.Adam(qf.parameters(), 3e-3)
    p_opt = torch.optim.Adam(policy.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(p_opt, 4)
    log = []
    for _ in range(4):
        o, a, r, o2 = torch.randn(16, 3), torch.rand(16, 2) * 2 - 1, torch.randn(16, 1), torch.randn(16, 3)
        with torch.no_grad():
            target_q = q_target(torch.cat([o, a], 1))
            next_v = vf(o2)
        v = vf(o)
        adv = target_q - v
        v_loss = expectile(adv).mean()
        v_opt.zero_grad(set_to_none=True)
        v_loss.backward()
        v_opt.step()

        q_loss = (qf(torch.cat([o, a], 1)) - (r + 0.99 * next_v)).pow(2).mean()
        q_opt.zero_grad(set_to_none=True)
        q_loss.backward()
        q_opt.step()
        for p, t in zip(qf.parameters(), q_target.parameters()):
            t.data.lerp_(p.data, 0.005)

        exp_adv = torch.exp(3.0 * adv.detach()).clamp(max=100.0)
        bc = -policy(o).log_prob(a).sum(-1, keepdim=True)
        p_loss = (exp_adv * bc).mean()
        p_opt.zero_grad(set_to_none=True)
        p_loss.backward()
        p_opt.step()
        schedule.step()
        log.append((v_loss.item(), q_loss.item(), p_loss.item(), schedule.get_last_lr()[0]))
    return vf, qf, policy, log


TRUTH = Truth()


def verify(out):
    *nets, log = out
    for net in nets:
        assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())
    assert log[-1][-1] < 1e-6 and all(x == x for row in log for x in row)

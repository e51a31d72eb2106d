"""CQL with a learned multiplier: the same penalty is minimised by the critic and maximised by the multiplier."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 5))
    q_target = copy.deepcopy(q).requires_grad_(False)
    log_alpha = nn.Parameter(torch.zeros(()))
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    alpha_opt = torch.optim.Adam([log_alpha], lr=1e-2)
    gap_threshold = 1.0
    before = log_alpha.item()
    history = []
    for step in range(4):
        s, a, r = torch.randn(16, 4), torch.randint(5, (16,)), torch.randn(16)
        s2, done = torch.randn(16, 4), (torch.rand(16) < 0.1).float()
        qs = q(s)
        chosen = qs.gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            y = r + 0.99 * (1 - done) * q_target(s2).max(1).values
        bellman = F.mse_loss(chosen, y)
        gap = (qs.logsumexp(1) - chosen).mean() - gap_threshold
        alpha = log_alpha.exp().clamp(0.0, 1e6)

        alpha_opt.zero_grad()
        (-(alpha * gap)).backward(retain_graph=True)
        alpha_opt.step()

        opt.zero_grad()
        (bellman + alpha.detach() * gap).backward()
        opt.step()
        with torch.no_grad():
            for p, tp in zip(q.parameters(), q_target.parameters()):
                tp.mul_(0.99).add_(p, alpha=0.01)
        history.append({"td": bellman.item(), "gap": gap.item(), "alpha": alpha.item()})
    return before, log_alpha, q, history


TRUTH = Truth()


def verify(out):
    before, log_alpha, q, history = out
    assert log_alpha.item() != before
    assert all(p.grad.abs().sum() > 0 for p in q.parameters())
    assert all(h["td"] < 1e3 for h in history)

"""Healthy: frozen backbone kept in eval mode, unfrozen later with add_param_group, per-group schedules, best state deep-copied and restored."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class CFG:
    epochs = 4
    unfreeze = 2
    lr_head = 1e-2
    lr_body = 1e-3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
        self.head = nn.Linear(8, 2)
        self.frozen = False

    def freeze(self, flag):
        self.frozen = flag
        self.body.requires_grad_(not flag)

    def train(self, mode=True):
        super().train(mode)
        if self.frozen:
            self.body.eval()
        return self

    def forward(self, x):
        return self.head(self.body(x))


def split(n):
    x = torch.randn(n, 5)
    return x, (x[:, 0] * x[:, 1] > 0).long()


def run():
    torch.manual_seed(0)
    xt, yt = split(32)
    xv, yv = split(16)
    net = Net()
    net.freeze(True)
    opt = torch.optim.Adam(net.head.parameters(), lr=CFG.lr_head)
    body0 = copy.deepcopy(net.body.state_dict())
    head0 = net.head.weight.detach().clone()
    best, best_state, body_at_unfreeze = float("inf"), None, None
    for epoch in range(CFG.epochs):
        if epoch == CFG.unfreeze:
            body_at_unfreeze = copy.deepcopy(net.body.state_dict())
            net.freeze(False)
            opt.add_param_group({"params": list(net.body.parameters()), "lr": CFG.lr_body})
        net.train()
        for x, y in zip(xt.split(16), yt.split(16)):
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        for group in opt.param_groups:
            group["lr"] *= 0.9
        net.eval()
        with torch.no_grad():
            score = F.cross_entropy(net(xv), yv).item()
        if score < best:
            best, best_state = score, copy.deepcopy(net.state_dict())
    final = {k: v.clone() for k, v in net.state_dict().items()}
    net.load_state_dict(best_state)
    with torch.no_grad():
        restored = F.cross_entropy(net(xv), yv).item()
    return body0, body_at_unfreeze, final, head0, best, restored


def verify(outcome):
    body0, at_unfreeze, final, head0, best, restored = outcome
    assert all(torch.equal(body0[k], at_unfreeze[k]) for k in body0)
    assert all(not torch.equal(body0[k], final["body." + k]) for k in body0)
    assert not torch.equal(head0, final["head.weight"])
    assert abs(best - restored) < 1e-6


TRUTH = Truth()

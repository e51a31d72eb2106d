"""Lookahead: slow weights live in the state of a wrapper, and are blended with the fast ones every third step."""

from collections import defaultdict

import torch
from torch import nn

from tests.practice.truth import Truth


class Lookahead(torch.optim.Optimizer):
    def __init__(self, optimizer, k=3, alpha=0.5):
        self.optimizer, self.k, self.alpha = optimizer, k, alpha
        self.param_groups = optimizer.param_groups
        self.state = defaultdict(dict)
        self.fast_state = optimizer.state
        for group in self.param_groups:
            group["counter"] = 0
        self.defaults = optimizer.defaults
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = {}, {}
        self._zero_grad_profile_name = "Optimizer.zero_grad#Lookahead.zero_grad"

    def zero_grad(self, set_to_none=True):
        self.optimizer.zero_grad(set_to_none)

    def update(self, group):
        for fast in group["params"]:
            state = self.state[fast]
            if "slow_param" not in state:
                state["slow_param"] = torch.zeros_like(fast.data)
                state["slow_param"].copy_(fast.data)
            slow = state["slow_param"]
            slow += (fast.data - slow) * self.alpha
            fast.data.copy_(slow)

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        for group in self.param_groups:
            if group["counter"] == 0:
                self.update(group)
            group["counter"] += 1
            if group["counter"] >= self.k:
                group["counter"] = 0
        return loss


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 12), nn.Mish(), nn.Linear(12, 1))
    start = net[0].weight.detach().clone()
    optimizer = Lookahead(torch.optim.RAdam(net.parameters(), lr=1e-2))
    losses = []
    for _ in range(5):
        x = torch.randn(16, 5)
        loss = nn.functional.huber_loss(net(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return net, start, optimizer, losses


TRUTH = Truth()


def verify(out):
    net, start, optimizer, losses = out
    assert not torch.equal(net[0].weight, start) and len(optimizer.state) == 4
    assert all(p.grad.abs().sum() > 0 for p in net.parameters()) and max(losses) < 100

"""AG407: one tensor in an optimizer's state for several parameters."""

from __future__ import annotations

import copy
from functools import cache

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm


@cache
def zeros(*shape):
    return torch.zeros(shape)


@cache
def basis(n):
    return torch.linalg.qr(torch.randn(n, n)).Q


class Momentum(torch.optim.Optimizer):
    def __init__(self, params, buffer, lr=0.01):
        super().__init__(params, {"lr": lr})
        self.buffer = buffer

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if not state:
                state["momentum"] = self.buffer(p)  # Made.
                state["basis"] = basis(4)
                state["count"] = zeros()
            state["count"] += 1
            state["momentum"].mul_(0.9).add_(state["basis"] @ p.grad)
            p.sub_(state["momentum"], alpha=self.param_groups[0]["lr"])


def layers(buffer):
    zeros.cache_clear()
    net = nn.Sequential(*(nn.Linear(4, 4, bias=False) for _ in range(3)))
    optimizer = Momentum(net.parameters(), buffer)
    for _ in range(3):
        trained(optimizer, net(torch.randn(8, 4)).square().mean())


def test_a_buffer_from_a_cache():
    """The entry, all parameters that have it, and the line that made it; what is only read may be shared."""
    finding = diagnosed(
        lambda: layers(lambda p: zeros(*p.shape)), "AG407", "# Made.", "momentum", "several parameters share",
        severity="warning", where=Momentum.step,
    )  # fmt: skip
    assert "basis" not in finding.message
    assert len([name for name in finding.subjects if name.endswith("weight")]) == 3


def test_a_buffer_for_each():
    """A counter and a basis may be shared, and parts of one buffer are apart."""
    calm(lambda: layers(torch.zeros_like))
    calm(lambda: layers(lambda p: zeros(*p.shape).clone()))

    def parts():
        flat = iter(torch.zeros(3, 4, 4))
        layers(lambda p: next(flat))

    calm(parts)


def taken_over(state=lambda optimizer: optimizer.state_dict(), *, goes_on=True):
    """A second model takes over the values and the state of the first."""
    nets = [nn.Linear(4, 4) for _ in range(2)]
    first, second = (torch.optim.Adam(net.parameters()) for net in nets)
    trained(first, nets[0](torch.randn(8, 4)).square().mean())
    nets[1].load_state_dict(nets[0].state_dict())
    second.load_state_dict(state(first))  # Loaded.
    for _ in range(2):
        trained(second, nets[1](torch.randn(8, 4)).square().mean())
        if goes_on:
            trained(first, nets[0](torch.randn(8, 4)).square().mean())
    return first


def test_state_of_another_optimizer():
    """Both write to the moments since the load; the line that loads them is told."""
    diagnosed(
        taken_over, "AG407", "# Loaded.", "exp_avg", "load_state_dict()", "copy.deepcopy(optimizer.state_dict())",
        severity="warning",
    )  # fmt: skip


def test_state_that_one_optimizer_has():
    """A copy of it, and state that is handed over by an optimizer that steps no more."""
    calm(lambda: taken_over(lambda optimizer: copy.deepcopy(optimizer.state_dict())))
    calm(lambda: taken_over(goes_on=False))

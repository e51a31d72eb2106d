"""SGHMC by hand: the momentum is moved by the gradients, weights are written under no_grad, samples are copies."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tests.practice.truth import Truth


class SGHMC(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, friction=0.1, prior=1.0):
        super().__init__(params, {"lr": lr, "friction": friction, "prior": prior})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(p)
                slope = p.grad.add(p, alpha=1 / group["prior"])
                noise = torch.randn_like(p) * (2 * group["friction"] * group["lr"]) ** 0.5
                state["momentum"].mul_(1 - group["friction"]).sub_(slope, alpha=group["lr"]).add_(noise, alpha=0.01)
                p.add_(state["momentum"])

    @torch.no_grad()
    def resample(self):
        for state in self.state.values():
            state["momentum"].normal_(0, 0.01)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
    sampler = SGHMC(net.parameters())
    x = torch.randn(30, 3)
    y = x[:, :1].sin()
    chain = []
    for step in range(8):
        rows = torch.randperm(30)[:10]
        mean, log_var = net(x[rows]).chunk(2, 1)
        loss = 3 * F.gaussian_nll_loss(mean, y[rows], log_var.exp(), reduction="sum")
        sampler.zero_grad()
        loss.backward()
        sampler.step()
        if step % 3 == 2:
            chain.append(parameters_to_vector(net.parameters()).detach().clone())
            sampler.resample()
    here = parameters_to_vector(net.parameters()).detach()
    with torch.no_grad():
        predictions = []
        for sample in chain:
            vector_to_parameters(sample, net.parameters())
            predictions.append(net(x))
        vector_to_parameters(here, net.parameters())
    return torch.stack(predictions).std(0)


TRUTH = Truth()

"""MAML by hand: a head that the task does not use has no gradient in the inner step."""

import torch
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(1, 16)
        self.mean = nn.Linear(16, 1)
        self.log_std = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.mean(h), self.log_std(h)


def run():
    torch.manual_seed(0)
    net = TwoHeads()
    meta = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(2):
        params = dict(net.named_parameters())
        x = torch.rand(10, 1)
        mean, _ = functional_call(net, params, (x,))
        inner = (mean - torch.sin(x)).pow(2).mean()
        grads = torch.autograd.grad(inner, list(params.values()), create_graph=True, allow_unused=True)  # cause
        fast = {n: p - 0.1 * g for (n, p), g in zip(params.items(), grads)}  # also
        mean, _ = functional_call(net, fast, (torch.rand(10, 1),))
        meta.zero_grad()
        mean.pow(2).mean().backward()
        meta.step()
    return net


TRUTH = Truth(
    fault="autograd.grad gives None for parameters that the loss does not use",
    raises="unsupported operand type(s) for *: 'float' and 'NoneType'",
    names=("log_std",),
    repair=(
        "grads = torch.autograd.grad(\n    inner, list(params.values()), create_graph=True, allow_unused=True, materialize_grads=True\n)",
    ),
)

"""torch.func computes the gradients; the optimizer reads .grad, where nobody put them."""

import torch
from torch import nn
from torch.func import functional_call, grad

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    before = net.weight.detach().clone()

    def loss_of(params, x):
        return functional_call(net, params, (x,)).pow(2).mean()

    for _ in range(3):
        grads = grad(loss_of)(dict(net.named_parameters()), torch.randn(8, 4))  # also
        norm = sum(g.pow(2).sum() for g in grads.values()).sqrt()
        opt.step()  # cause
    return (net.weight - before).abs().max().item() + 0 * norm.item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(
    fault="no parameter has a gradient when the optimizer steps",
    repair=("for name, p in net.named_parameters():\n    p.grad = grads[name]\nopt.step()",),
)

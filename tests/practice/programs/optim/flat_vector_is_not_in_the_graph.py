"""The weights are optimised as one flat vector, but `vector_to_parameters` copies values, not the graph."""

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    theta = parameters_to_vector(net.parameters()).detach().requires_grad_()
    opt = torch.optim.Adam([theta], lr=1e-2)
    before = theta.detach().clone()
    for _ in range(2):
        opt.zero_grad()
        vector_to_parameters(theta, net.parameters())  # cause
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    return torch.equal(before, theta)


def verify(out):
    assert out


TRUTH = Truth(
    fault="the vector's gradient is lost: the parameters are leaves",
    names=("theta",),
    repair=("net = lambda x: x @ theta[:8].view(2, 4).T + theta[8:]",),
)

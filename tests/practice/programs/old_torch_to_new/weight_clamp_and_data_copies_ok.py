"""Old PyTorch to new, healthy: .data is still used where it is right: clipping weights after the step, copying into a target, reading a loss."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self, dim=5):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 1, bias=False))

    def forward(self, x):
        return self.main(x).mean(0).view(1)


class Generator(nn.Module):
    def __init__(self, noise=3, dim=5):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(noise, 16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, z):
        return self.main(z)


def weights_init(module):
    if isinstance(module, nn.Linear):
        module.weight.data.normal_(0.0, 0.1)


def train(net_d, net_g, optimizer_d, optimizer_g, iterations=3, clamp=0.05):
    one = torch.ones(1)
    history = []
    for _ in range(iterations):
        for p in net_d.parameters():
            p.requires_grad = True
        for _ in range(2):
            net_d.zero_grad()
            err_real = net_d(torch.randn(8, 5) + 1)
            err_real.backward(one)
            with torch.no_grad():
                z = torch.randn(8, 3)
                fake = net_g(z)
            err_fake = net_d(fake)
            err_fake.backward(-one)
            optimizer_d.step()
            for p in net_d.parameters():
                p.data.clamp_(-clamp, clamp)
        for p in net_d.parameters():
            p.requires_grad = False
        net_g.zero_grad()
        err_g = net_d(net_g(torch.randn(8, 3)))
        err_g.backward(one)
        optimizer_g.step()
        history.append((err_real - err_fake).data[0].item())
    return history


def run():
    torch.manual_seed(0)
    net_d, net_g = Critic(), Generator()
    net_d.apply(weights_init)
    net_g.apply(weights_init)
    optimizer_d = torch.optim.RMSprop(net_d.parameters(), lr=1e-3)
    optimizer_g = torch.optim.RMSprop(net_g.parameters(), lr=1e-3)
    before = [p.detach().clone() for net in (net_d, net_g) for p in net.parameters()]
    train(net_d, net_g, optimizer_d, optimizer_g)
    return before, [p for net in (net_d, net_g) for p in net.parameters()]


def verify(outcome):
    before, after = outcome
    assert all(a.grad is not None and not torch.equal(b, a.detach()) for b, a in zip(before, after, strict=True))


TRUTH = Truth()

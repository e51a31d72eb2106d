"""JEM: chains are sampled by grad with the net in eval mode, kept in a buffer, and enter the loss detached."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class JEM(nn.Module):
    def __init__(self, dim=4, classes=3):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(dim, 24), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(24, 16), nn.SiLU())
        self.class_output = nn.Linear(16, classes)

    def classify(self, x):
        return self.class_output(self.f(x))

    def forward(self, x):
        return self.classify(x).logsumexp(1)


class Sampler:
    def __init__(self, size, dim):
        self.buffer = torch.empty(size, dim).uniform_(-1, 1)

    def start(self, n):
        inds = torch.randint(0, len(self.buffer), (n,))
        fresh = torch.empty(n, self.buffer.shape[1]).uniform_(-1, 1)
        choose = (torch.rand(n) < 0.1).float()[:, None]
        return choose * fresh + (1 - choose) * self.buffer[inds], inds

    def sample(self, f, n, steps=4):
        f.eval()
        init, inds = self.start(n)
        x_k = torch.autograd.Variable(init, requires_grad=True)
        for _ in range(steps):
            f_prime = torch.autograd.grad(f(x_k).sum(), [x_k], retain_graph=True)[0]
            x_k.data += 1.0 * f_prime + 0.01 * torch.randn_like(x_k)
        f.train()
        final = x_k.detach()
        self.buffer[inds] = final.cpu()
        return final


def run():
    torch.manual_seed(0)
    f, sampler = JEM(), Sampler(32, 4)
    optim = torch.optim.Adam(f.parameters(), lr=1e-3, betas=(0.9, 0.999))
    old = sampler.buffer.clone()
    log = []
    for _ in range(3):
        x, y = torch.randn(8, 4) * 0.5, torch.randint(3, (8,))
        x_q = sampler.sample(f, 8)
        fp, fq = f(x).mean(), f(x_q).mean()
        l_p_x = -(fp - fq)
        l_p_y_given_x = F.cross_entropy(f.classify(x), y)
        L = l_p_x + l_p_y_given_x
        optim.zero_grad()
        L.backward()
        optim.step()
        log.append((l_p_x.item(), l_p_y_given_x.item()))
    return f, old, sampler, log


TRUTH = Truth()


def verify(out):
    f, old, sampler, log = out
    assert all(p.grad.abs().sum() > 0 for p in f.parameters())
    assert not torch.equal(old, sampler.buffer) and not sampler.buffer.requires_grad
    assert all(abs(v) < 100 for row in log for v in row)

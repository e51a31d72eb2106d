"""A learned optimizer, trained by segments: weights and state are cut between them, gradients are inputs without graph."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from tests.practice.truth import Truth


class Updater(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.cell = nn.LSTMCell(2, hidden)
        self.out = nn.Linear(hidden, 1)
        nn.init.normal_(self.out.weight, std=1e-2)
        nn.init.zeros_(self.out.bias)

    def forward(self, grad, state):
        size = grad.abs().clamp_min(1e-8).log() / 10
        h, c = self.cell(torch.stack([size, grad.sign()], -1), state)
        return self.out(h).squeeze(-1) * 0.1, (h, c)


def flat(values):
    return torch.cat([value.reshape(-1) for value in values])


def unflat(vector, like):
    out, start = {}, 0
    for name, value in like.items():
        out[name] = vector[start : start + value.numel()].view_as(value)
        start += value.numel()
    return out


def run():
    torch.manual_seed(0)
    updater = Updater()
    meta = torch.optim.Adam(updater.parameters(), lr=1e-3)
    for _ in range(2):
        net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))
        like = {name: p.detach() for name, p in net.named_parameters()}
        theta = flat(like.values()).requires_grad_()
        state = (torch.zeros(len(theta), 8), torch.zeros(len(theta), 8))
        x, y = torch.randn(20, 3), torch.randint(2, (20,))
        for _ in range(2):
            total = 0.0
            for _ in range(3):
                inner = theta.detach().requires_grad_()
                loss = F.cross_entropy(functional_call(net, unflat(inner, like), x), y)
                (grad,) = torch.autograd.grad(loss, inner)
                update, state = updater(grad, state)
                theta = theta + update
                total = total + F.cross_entropy(functional_call(net, unflat(theta, like), x), y)
            meta.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(updater.parameters(), 1.0)
            meta.step()
            theta = theta.detach().requires_grad_()
            state = tuple(part.detach() for part in state)


TRUTH = Truth()

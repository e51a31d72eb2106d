"""Sliced score matching: a second derivative by grad with its graph kept; the input asks for gradients, and gets none stored."""

import torch
from torch import nn

from tests.practice.truth import Truth


class EnergyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 24), nn.Softplus(), nn.Linear(24, 24), nn.Softplus(), nn.Linear(24, 1, bias=False)
        )

    def forward(self, x):
        return self.net(x)


def sliced_score_matching(energy, samples, n_particles=2):
    dup = samples.unsqueeze(0).expand(n_particles, *samples.shape).contiguous().view(-1, samples.shape[1])
    dup.requires_grad_(True)
    vectors = torch.randn_like(dup)
    logp = -energy(dup).sum()
    grad1 = torch.autograd.grad(logp, dup, create_graph=True)[0]
    gradv = torch.sum(grad1 * vectors)
    loss1 = torch.sum(grad1 * vectors, dim=-1) ** 2 * 0.5
    grad2 = torch.autograd.grad(gradv, dup, create_graph=True)[0]
    loss2 = torch.sum(vectors * grad2, dim=-1)
    return (loss1 + loss2).mean(), loss1.mean().item(), loss2.mean().item(), dup


def run():
    torch.manual_seed(0)
    energy = EnergyNet()
    optimizer = torch.optim.Adam(energy.parameters(), lr=1e-2)
    log = []
    for _ in range(4):
        x = torch.randn(32, 2) @ torch.tensor([[1.0, 0.6], [0.0, 0.8]])
        loss, l1, l2, dup = sliced_score_matching(energy, x)
        optimizer.zero_grad()
        loss.backward(inputs=list(energy.parameters()))
        optimizer.step()
        log.append((l1, l2, dup.grad is None))
    return energy, log


TRUTH = Truth()


def verify(out):
    energy, log = out
    assert all(p.grad.abs().sum() > 0 for p in energy.parameters())
    assert all(kept for *_, kept in log) and all(abs(a) + abs(b) < 1e3 for a, b, _ in log)

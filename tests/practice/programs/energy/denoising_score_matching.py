"""Denoising score matching with a scalar energy: the score is taken without create_graph, only the prior term learns."""

import torch
from torch import nn

from tests.practice.truth import Truth


class EnergyNet(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim, 24), nn.Softplus(), nn.Linear(24, 24), nn.Softplus(), nn.Linear(24, 1, bias=False)
        )
        self.log_precision = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return self.net(x).squeeze(-1), 0.5 * (self.log_precision.exp() * x**2).sum(-1)

    def score(self, x):
        x = x.detach().requires_grad_(True)
        energy, _ = self(x)
        (grad,) = torch.autograd.grad(energy.sum(), x)  # cause
        return -grad - self.log_precision.exp() * x


def dsm_loss(model, x, sigma):
    noise = torch.randn_like(x)
    noisy = x + sigma * noise
    target = -noise / sigma
    return 0.5 * sigma**2 * ((model.score(noisy) - target) ** 2).sum(-1).mean()


def sample(model, n, steps=3):
    x = torch.randn(n, 2)
    for _ in range(steps):
        x = x + 0.05 * model.score(x).detach() + 0.1 * torch.randn_like(x)
    return x


def run():
    torch.manual_seed(0)
    model = EnergyNet(2)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    sigmas = torch.logspace(0, -1, 4)
    for epoch in range(4):
        x = torch.randn(32, 2) * torch.tensor([1.0, 0.3])
        opt.zero_grad()
        loss = dsm_loss(model, x, sigmas[epoch].item())
        loss.backward()
        opt.step()
        print(f"epoch {epoch} sigma {sigmas[epoch]:.2f} loss {loss.item():.4f}")
    print(sample(model, 4).std(0))
    return model


def verify(out):
    assert all(p.grad is None for p in out.net.parameters())


TRUTH = Truth(
    fault="the score carries no graph to the energy network",
    names=("net.0.weight",),
    repair=("(grad,) = torch.autograd.grad(energy.sum(), x, create_graph=True)",),
)

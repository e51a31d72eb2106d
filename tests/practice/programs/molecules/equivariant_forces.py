"""An E(n)-equivariant force field, trained on energies and forces and validated with autograd on, by intent."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EquivariantLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.edge = nn.Sequential(nn.Linear(2 * dim + 1, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU())
        self.coord = nn.Linear(dim, 1, bias=False)
        self.node = nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, h, x, i, j):
        diff = x[i] - x[j]
        m = self.edge(torch.cat([h[i], h[j], (diff**2).sum(-1, keepdim=True)], dim=-1))
        x = x.index_add(0, i, diff * torch.tanh(self.coord(m)) / len(h))
        agg = torch.zeros_like(h).index_add(0, i, m)
        return h + self.node(torch.cat([h, agg], dim=-1)), x


class ForceField(nn.Module):
    def __init__(self, dim=8, layers=2):
        super().__init__()
        self.embed = nn.Embedding(10, dim)
        self.layers = nn.ModuleList(EquivariantLayer(dim) for _ in range(layers))
        self.energy = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1, bias=False))

    def forward(self, z, pos):
        n = len(z)
        i, j = (~torch.eye(n, dtype=torch.bool)).nonzero().T
        h, x = self.embed(z), pos
        for layer in self.layers:
            h, x = layer(h, x, i, j)
        # the last coordinates reach the energy by their distances
        spread = (x - x.mean(0)).pow(2).sum()
        return self.energy(h).sum() + 0.1 * spread


def energy_and_forces(model, z, pos, train):
    pos = pos.clone().requires_grad_(True)
    with torch.enable_grad():
        energy = model(z, pos)
        (grad,) = torch.autograd.grad(energy, pos, create_graph=train)
    return (energy, -grad) if train else (energy.detach(), -grad)


def run():
    torch.manual_seed(0)
    model = ForceField()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, amsgrad=True)
    z = torch.tensor([8, 1, 1, 6])
    data = [(torch.randn(4, 3), torch.randn(()), 0.1 * torch.randn(4, 3)) for _ in range(6)]
    maes = []
    for epoch in range(3):
        model.train()
        for pos, e_ref, f_ref in data[:4]:
            e, f = energy_and_forces(model, z, pos, train=True)
            loss = 0.01 * (e - e_ref) ** 2 + F.mse_loss(f, f_ref)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            opt.step()
        model.eval()
        with torch.no_grad():
            maes.append(
                torch.stack([(energy_and_forces(model, z, p, False)[1] - f).abs().mean() for p, _, f in data[4:]])
            )
        print(f"epoch {epoch} loss {loss.item():.4f} val force mae {maes[-1].mean():.4f}")
    return model, maes


TRUTH = Truth()


def verify(out):
    model, maes = out
    assert all(p.grad is not None for p in model.parameters())
    assert not any(m.requires_grad for m in maes)

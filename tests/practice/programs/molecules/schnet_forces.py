"""A force field: forces are minus the gradient of the energy, and validation runs under `no_grad()`."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ShiftedSoftplus(nn.Module):
    def forward(self, x):
        return F.softplus(x) - 0.6931


class Interaction(nn.Module):
    def __init__(self, dim, n_rbf):
        super().__init__()
        self.filter = nn.Sequential(nn.Linear(n_rbf, dim), ShiftedSoftplus(), nn.Linear(dim, dim))
        self.inp, self.out = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim)

    def forward(self, h, rbf, i, j):
        messages = self.inp(h)[j] * self.filter(rbf)
        return h + self.out(torch.zeros_like(h).index_add(0, i, messages))


class SchNet(nn.Module):
    def __init__(self, dim=8, n_rbf=6, cutoff=4.0):
        super().__init__()
        self.embed = nn.Embedding(10, dim)
        self.blocks = nn.ModuleList(Interaction(dim, n_rbf) for _ in range(2))
        self.readout = nn.Sequential(nn.Linear(dim, dim), ShiftedSoftplus(), nn.Linear(dim, 1))
        self.register_buffer("centres", torch.linspace(0, cutoff, n_rbf))

    def forward(self, z, pos):
        pos = pos.detach().requires_grad_(True)
        n = len(z)
        i, j = (~torch.eye(n, dtype=torch.bool)).nonzero().T
        d = (pos[i] - pos[j]).norm(dim=1)
        rbf = torch.exp(-2.0 * (d[:, None] - self.centres) ** 2)
        h = self.embed(z)
        for block in self.blocks:
            h = block(h, rbf, i, j)
        energy = self.readout(h).sum()
        (grad,) = torch.autograd.grad(energy, pos, create_graph=self.training)  # symptom
        return energy, -grad


class Trainer:
    def __init__(self, model, rho=0.1):
        self.model, self.rho = model, rho
        self.opt = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(self, z, pos, energy, forces):
        e, f = self.model(z, pos)
        return self.rho * (e - energy) ** 2 + F.mse_loss(f, forces)

    def train_epoch(self, frames):
        self.model.train()
        for frame in frames:
            self.opt.zero_grad()
            loss = self.loss(*frame)
            loss.backward()
            self.opt.step()
        return loss.item()

    @torch.no_grad()  # cause
    def validate(self, frames):
        self.model.eval()
        return sum(self.loss(*frame).item() for frame in frames) / len(frames)  # also


def run():
    torch.manual_seed(0)
    z = torch.tensor([6, 1, 1, 1, 8])
    frames = [(z, torch.randn(5, 3), torch.randn(()), torch.randn(5, 3)) for _ in range(6)]
    trainer = Trainer(SchNet())
    for epoch in range(2):
        print(f"epoch {epoch} train {trainer.train_epoch(frames[:4]):.4f}")
        print(f"epoch {epoch} val {trainer.validate(frames[4:]):.4f}")
    return trainer


TRUTH = Truth(
    fault="a model that differentiates in its forward pass is validated without a graph",
    raises="element 0 of tensors does not require grad",
    names=("no_grad",),
    repair=("@torch.enable_grad()",),
)

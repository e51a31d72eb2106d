"""SchNet: forces with create_graph=self.training, but the model is left in eval mode, so the forces' loss trains nothing."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ShiftedSoftplus(nn.Module):
    def forward(self, x):
        return F.softplus(x) - 0.6931


class CFConv(nn.Module):
    def __init__(self, hidden, n_gauss):
        super().__init__()
        self.filter = nn.Sequential(nn.Linear(n_gauss, hidden), ShiftedSoftplus(), nn.Linear(hidden, hidden))
        self.lin1, self.lin2 = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden)

    def forward(self, h, rbf, edges):
        i, j = edges
        msg = self.lin1(h)[j] * self.filter(rbf)
        return h + self.lin2(torch.zeros_like(h).index_add(0, i, msg))


class SchNet(nn.Module):
    def __init__(self, hidden=12, n_gauss=8, cutoff=4.0):
        super().__init__()
        self.embedding = nn.Embedding(10, hidden)
        self.register_buffer("offset", torch.linspace(0, cutoff, n_gauss))
        self.interactions = nn.ModuleList([CFConv(hidden, n_gauss) for _ in range(2)])
        self.readout = nn.Sequential(nn.Linear(hidden, hidden), ShiftedSoftplus(), nn.Linear(hidden, 1))

    def energy(self, z, pos):
        n = len(z)
        edges = (~torch.eye(n, dtype=torch.bool)).nonzero().t()
        dist = (pos[edges[0]] - pos[edges[1]]).norm(dim=1)
        rbf = torch.exp(-2.0 * (dist[:, None] - self.offset) ** 2)
        h = self.embedding(z)
        for interaction in self.interactions:
            h = interaction(h, rbf, edges)
        return self.readout(h).sum()

    def forward(self, z, pos):
        pos = pos.detach().requires_grad_()
        energy = self.energy(z, pos)
        (grad,) = torch.autograd.grad(energy, pos, create_graph=self.training, retain_graph=True)  # also
        return energy, -grad


class Trainer:
    def __init__(self, model, rho=0.9):
        self.model, self.rho = model, rho
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.force_graph = []

    def validate(self, frames):
        self.model.eval()  # also
        errors = [(self.model(z, pos)[1] - f).abs().mean().item() for z, pos, _, f in frames]
        return sum(errors) / len(errors)

    def train_epoch(self, frames):
        for z, pos, e_ref, f_ref in frames:
            energy, forces = self.model(z, pos)
            self.force_graph.append(forces.requires_grad)
            loss = (1 - self.rho) * (energy - e_ref) ** 2 + self.rho * F.mse_loss(forces, f_ref)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def fit(self, train, val, epochs=2):
        best = self.validate(val)  # also
        for _ in range(epochs):
            self.train_epoch(train)  # cause
            best = min(best, self.validate(val))
        return best


def frames(n):
    z = torch.tensor([8, 1, 1, 6])
    return [(z, torch.randn(4, 3) * 1.5, torch.randn(()), torch.randn(4, 3)) for _ in range(n)]


def run():
    torch.manual_seed(0)
    trainer = Trainer(SchNet())
    trainer.fit(frames(2), frames(1))
    return trainer.force_graph


def verify(outcome):
    assert not any(outcome[2:]), outcome


TRUTH = Truth(
    fault="validate() leaves the model in eval mode, where the forces are made without a graph: their loss has no gradient",
    names=("eval", "forces", "create_graph"),
    repair=("self.model.train()\nself.train_epoch(train)",),
)

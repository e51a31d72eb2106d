"""Sum pooling of atoms into molecules by `mol[batch] += h`: of each molecule only one atom arrives."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class BondConv(nn.Module):
    def __init__(self, dim, bond_types=3):
        super().__init__()
        self.bond = nn.Embedding(bond_types, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, h, edges, bonds):
        src, dst = edges
        agg = torch.zeros_like(h).index_add(0, dst, F.relu(h[src] + self.bond(bonds)))
        return self.mlp(h + agg)


class SolubilityNet(nn.Module):
    def __init__(self, dim=8, layers=2):
        super().__init__()
        self.dim = dim
        self.atoms = nn.Embedding(9, dim)
        self.convs = nn.ModuleList(BondConv(dim) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 1)

    def pool(self, h, batch, num_mols):
        mol = torch.zeros(num_mols, self.dim)
        mol[batch] += h  # cause
        return mol

    def forward(self, mols):
        h = self.atoms(mols["z"])
        for conv in self.convs:
            h = conv(h, mols["edges"], mols["bonds"])
        pooled = self.pool(self.norm(h), mols["batch"], mols["num"])  # symptom
        return self.head(pooled).squeeze(1)


def collate(sizes):
    """Chains of `sizes` atoms in one disconnected graph."""
    z = torch.randint(0, 9, (sum(sizes),))
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    left = (batch[:-1] == batch[1:]).nonzero().squeeze(1)
    edges = torch.stack([torch.cat([left, left + 1]), torch.cat([left + 1, left])])
    bonds = torch.randint(0, 3, (edges.shape[1],))
    target = torch.zeros(len(sizes)).index_add(0, batch, (z > 5).float())
    return {"z": z, "edges": edges, "bonds": bonds, "batch": batch, "num": len(sizes), "y": target}


def run():
    torch.manual_seed(0)
    model = SolubilityNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 6)
    for step in range(6):
        mols = collate(torch.randint(3, 7, (5,)).tolist())
        loss = F.smooth_l1_loss(model(mols), mols["y"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        print(f"step {step} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.5f}")
    return model


def verify(out):
    batch = torch.tensor([0, 0, 0, 1, 1])
    assert torch.equal(out.pool(torch.ones(5, out.dim), batch, 2)[:, 0], torch.ones(2))


TRUTH = Truth(
    fault="an indexed assignment with repeated indices keeps one of the rows that it should add up",
    names=("mol", "batch"),
    repair=("mol = mol.index_add(0, batch, h)",),
)

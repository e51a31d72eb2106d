"""Graph net with hand-made aggregation: `agg[dst] += msg` keeps one message per node, the other edges vanish."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class EdgeMLP(nn.Module):
    def __init__(self, node_dim, edge_dim, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * node_dim + edge_dim, hidden), nn.SiLU(), nn.Linear(hidden, node_dim))

    def forward(self, h_src, h_dst, e):
        return self.net(torch.cat([h_src, h_dst, e], dim=-1))


class Interaction(nn.Module):
    def __init__(self, node_dim=8, edge_dim=3, hidden=16):
        super().__init__()
        self.message = EdgeMLP(node_dim, edge_dim, hidden)
        self.update = nn.GRUCell(node_dim, node_dim)

    def forward(self, h, edge_index, e):
        src, dst = edge_index
        msg = self.message(h[src], h[dst], e)
        agg = torch.zeros_like(h)
        agg[dst] += msg  # cause
        return self.update(agg, h)


class MolNet(nn.Module):
    def __init__(self, atom_types=5, dim=8):
        super().__init__()
        self.atom = nn.Embedding(atom_types, dim)
        self.layers = nn.ModuleList(Interaction(dim) for _ in range(2))
        self.readout = nn.Sequential(nn.Linear(dim, 16), nn.SiLU(), nn.Linear(16, 1))

    def forward(self, atoms, edge_index, e):
        h = self.atom(atoms)
        for layer in self.layers:
            h = layer(h, edge_index, e)
        return self.readout(h).sum()


def random_molecule(n=6):
    src, dst = torch.where(~torch.eye(n, dtype=torch.bool))
    keep = torch.rand(src.numel()) < 0.7
    edge_index = torch.stack([src[keep], dst[keep]])
    return torch.randint(0, 5, (n,)), edge_index, torch.randn(edge_index.size(1), 3)


@torch.no_grad()
def edges_that_matter(model, molecule):
    """How many edges have an influence on the energy when their features change."""
    atoms, edge_index, e = molecule
    energy, count = model(atoms, edge_index, e), 0
    for i in range(e.size(0)):
        changed = e.clone()
        changed[i] += 1.0
        count += not torch.equal(model(atoms, edge_index, changed), energy)
    return count, e.size(0)


def run():
    torch.manual_seed(0)
    model = MolNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(3):
        loss = torch.zeros(())
        for _ in range(4):
            atoms, edge_index, e = random_molecule()
            loss = loss + F.l1_loss(model(atoms, edge_index, e), e.sum())
        optimizer.zero_grad()
        (loss / 4).backward()
        optimizer.step()
    return edges_that_matter(model, random_molecule())


def verify(outcome):
    used, edges = outcome
    assert used <= 6 < edges


TRUTH = Truth(
    fault="indexed += does not accumulate over repeated indices: all but one message of a node are lost, yet all get a gradient",
    names=("agg", "index_put"),
    repair=("agg = agg.index_add(0, dst, msg)",),
)

"""Triplets chosen without a gradient by their distances; a step without a valid triplet learns nothing, and says so."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


@torch.no_grad()
def semi_hard(emb, labels, margin):
    d = torch.cdist(emb, emb)
    same = labels[:, None] == labels[None]
    triplets = []
    for a in range(len(labels)):
        for p in same[a].nonzero().flatten().tolist():
            if p == a:
                continue
            ok = (~same[a]) & (d[a] > d[a, p]) & (d[a] < d[a, p] + margin)
            if ok.any():
                n = torch.where(ok, d[a], torch.inf).argmin().item()
                triplets.append((a, p, n))
    return torch.tensor(triplets, dtype=torch.long).reshape(-1, 3)


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.PReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    found, losses = [], []
    batches = [
        (torch.randn(12, 6), torch.arange(12) % 4),
        (torch.randn(6, 6), torch.arange(6)),
        (torch.randn(12, 6), torch.arange(12) % 3),
    ]
    for x, y in batches:
        emb = F.normalize(net(x), dim=1)
        triplets = semi_hard(emb, y, margin=0.5)
        found.append(len(triplets))
        if len(triplets) == 0:
            print("no valid triplet in this batch")
            continue
        a, p, n = triplets.t()
        dp = (emb[a] - emb[p]).pow(2).sum(1)
        dn = (emb[a] - emb[n]).pow(2).sum(1)
        loss = F.relu(dp - dn + 0.5).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return net, found, losses


TRUTH = Truth()


def verify(out):
    net, found, losses = out
    assert found[1] == 0 and found[0] > 0 and len(losses) == 2
    assert all(p.grad.abs().sum() > 0 for p in net.parameters())

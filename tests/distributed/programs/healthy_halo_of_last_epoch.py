"""Full-batch graph training, one part of the graph a rank: embeddings of the neighbours' border are those of the last epoch."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tests.distributed.truth import Truth

NODES, BORDER, DIM, CLASSES = 10, 3, 6, 3


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1 = nn.Linear(DIM, 8)
        self.lin2 = nn.Linear(8, CLASSES)

    def forward(self, adjacency, x, halo_x, halo_h):
        h = torch.relu(self.lin1(adjacency @ torch.cat([x, halo_x])))
        return self.lin2(adjacency @ torch.cat([h, halo_h])), h


class Part:
    """The nodes of this rank, and copies of those next to it."""

    def __init__(self, rank):
        g = torch.Generator().manual_seed(70 + rank)
        self.x = torch.randn(NODES, DIM, generator=g)
        self.y = torch.randint(0, CLASSES, (NODES,), generator=g)
        dense = (torch.rand(NODES, NODES + BORDER, generator=g) < 0.3).float()
        dense[:, :NODES].fill_diagonal_(1.0)
        self.adjacency = dense / dense.sum(1, keepdim=True)
        self.labelled = torch.rand(NODES, generator=g) < 0.6
        self.labelled[0] = True


def swap(border):
    """Sends the border's rows to the other rank, returns the rows that it sent."""
    other = 1 - dist.get_rank()
    received = torch.empty_like(border)
    requests = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, border.contiguous(), other), dist.P2POp(dist.irecv, received, other)]
    )
    for request in requests:
        request.wait()
    return received


def reduce_gradients(model):
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    dist.all_reduce(flat)
    for p, g in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
        p.grad.copy_(g.view_as(p))


def setup():
    global model, opt, part
    torch.manual_seed(0)
    model = GCN()
    opt = torch.optim.Adam(model.parameters(), lr=0.02)
    part = Part(dist.get_rank())


def run():
    halo_x = swap(part.x[:BORDER])
    halo_h = torch.zeros(BORDER, 8)
    count = part.labelled.sum().float()
    dist.all_reduce(count)
    for _ in range(5):
        logits, h = model(part.adjacency, part.x, halo_x, halo_h)
        loss = F.cross_entropy(logits[part.labelled], part.y[part.labelled], reduction="sum") / count
        opt.zero_grad()
        loss.backward()
        reduce_gradients(model)
        opt.step()
        halo_h = swap(h[:BORDER].detach())
    return [round(p.norm().item(), 6) for p in model.parameters()]


TRUTH = Truth(values=True)

"""GPipe by hand over an epoch of sequences: batches are cut into micro-batches, both stages step once a batch."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.distributed.truth import Truth

MICRO, BATCH, STEPS, DIM = 4, 8, 5, 6


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, DIM)
        self.gru = nn.GRU(DIM, DIM, batch_first=True)

    def forward(self, ids):
        return self.gru(self.embed(ids))[0].contiguous()


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(DIM, 12)

    def forward(self, h):
        return self.proj(torch.relu(h))


def encode(stage, ids):
    acts = []
    for piece in ids.chunk(MICRO):  # cause
        act = stage(piece)
        dist.send(torch.tensor(act.shape), dst=1)
        dist.send(act.detach(), dst=1)
        acts.append(act)
    for act in acts:
        grad = torch.empty_like(act)
        dist.recv(grad, src=1)  # also
        act.backward(grad)


def decode(stage, targets):
    inputs = []
    for _ in range(MICRO):
        shape = torch.empty(3, dtype=torch.long)
        dist.recv(shape, src=0)  # also
        act = torch.empty(*shape.tolist())
        dist.recv(act, src=0)
        inputs.append(act.requires_grad_(True))
    for act, target in zip(inputs, targets.split([len(a) for a in inputs])):
        logits = stage(act)
        (F.cross_entropy(logits.flatten(0, 1), target.flatten()) / MICRO).backward()
        dist.send(act.grad, dst=0)


def setup():
    global rank, stage, opt, loader
    rank = dist.get_rank()
    torch.manual_seed(0)
    ids = torch.randint(0, 12, (22, STEPS + 1))
    loader = DataLoader(TensorDataset(ids), batch_size=BATCH)
    stage = Encoder() if rank == 0 else Decoder()
    opt = torch.optim.Adam(stage.parameters(), lr=1e-2)


def run():
    for epoch in range(2):
        for (ids,) in loader:
            opt.zero_grad()
            if rank == 0:
                encode(stage, ids[:, :-1])
            else:
                decode(stage, ids[:, 1:])
            opt.step()
    return [round(p.norm().item(), 5) for p in stage.parameters()]


TRUTH = Truth(
    fault="chunk() makes three pieces of the six sequences of the last batch, the second stage waits for a fourth",
    rule="AG603",
    names=("recv", "rank 1"),
    where="any",
    raises="imed out|timeout caused|Connection closed|onnection reset|Read error",
)

"""fully_shard language model whose output projection reads the embedding's weight directly."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth

VOCAB, DIM = 10, 8


class TinyLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.block = nn.Sequential(nn.Linear(DIM, 16), nn.GELU(), nn.Linear(16, DIM))

    def forward(self, ids):
        h = self.embed(ids)
        h = h + self.block(h)
        return F.linear(h, self.embed.weight)  # cause


def setup():
    global net, opt, g
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    net = TinyLM()
    fully_shard(net.embed, mesh=mesh)  # also
    fully_shard(net.block, mesh=mesh)
    fully_shard(net, mesh=mesh)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    losses = []
    for _ in range(2):
        ids = torch.randint(0, VOCAB, (2, 6), generator=g)
        loss = F.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        opt.step()
        opt.zero_grad()
        losses.append(round(loss.item(), 4))
    return losses


TRUTH = Truth(
    fault="the embedding is sharded again when its own forward is over: the tied projection meets a sharded DTensor",
    rule="AG415",
    names=("embed.weight",),
    where="own",
    raises="mixed torch.Tensor and DTensor",
)

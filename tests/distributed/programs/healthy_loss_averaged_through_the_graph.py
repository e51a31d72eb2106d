"""DDP with a contrastive loss over the features of all ranks, gathered differentiably; the loss is averaged in the graph too."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dnn
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(6, 4), nn.Linear(5, 4)
        self.log_scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, a, b):
        return F.normalize(self.image(a), dim=1), F.normalize(self.text(b), dim=1), self.log_scale.exp()


def setup():
    global model, opt, g
    torch.manual_seed(0)
    model = DDP(TwoTower())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())


def clip_loss(a, b, scale):
    everyone_a, everyone_b = torch.cat(dnn.all_gather(a)), torch.cat(dnn.all_gather(b))
    labels = torch.arange(len(a)) + len(a) * dist.get_rank()
    local = F.cross_entropy(scale * a @ everyone_b.T, labels) + F.cross_entropy(scale * b @ everyone_a.T, labels)
    return dnn.all_reduce(local) / (2 * dist.get_world_size())  # the backward sums over ranks, DDP divides again


def run():
    losses = []
    for _ in range(3):
        loss = clip_loss(*model(torch.randn(4, 6, generator=g), torch.randn(4, 5, generator=g)))
        loss.backward()
        opt.step()
        opt.zero_grad()
        losses.append(round(loss.item(), 5))
    return losses, round(model.module.image.weight.norm().item(), 5)


TRUTH = Truth()

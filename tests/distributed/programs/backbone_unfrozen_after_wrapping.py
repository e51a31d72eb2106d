"""Fine-tuning with DDP: the backbone is frozen for the first epoch and thawed afterwards."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 8))
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


def setup():
    global model, opt, g
    torch.manual_seed(0)
    net = Classifier()
    net.backbone.requires_grad_(False)
    model = DDP(net)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    for epoch in range(2):
        if epoch == 1:
            model.module.backbone.requires_grad_(True)  # cause
        for _ in range(2):
            x, y = torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)
            F.cross_entropy(model(x), y).backward()
            opt.step()  # also
            opt.zero_grad()
    net = model.module
    return round(net.backbone[0].weight.sum().item(), 4), round(net.head.weight.sum().item(), 4)


TRUTH = Truth(
    fault="backbone thawed after DDP was built: its gradients are never reduced and the ranks drift apart",
    rule="AG605",
    names=("backbone",),
    where="own",
)

"""Classifier with a consistency term, trained with DDP."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.GELU())
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.body(x))


class Trainer:
    def __init__(self, net, lr=0.1):
        self.net = net
        self.ddp = DDP(net)
        self.opt = torch.optim.AdamW(net.parameters(), lr=lr)

    def loss(self, x, y):
        logits = self.net(x)  # cause
        with torch.no_grad():
            target = F.softmax(self.net(x + 0.01 * torch.randn_like(x)), -1)
        return F.cross_entropy(logits, y) + 0.1 * F.kl_div(F.log_softmax(logits, -1), target, reduction="batchmean")

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        loss = self.loss(x, y)
        loss.backward()
        self.opt.step()
        return loss.item()


def setup():
    global trainer
    torch.manual_seed(1)
    trainer = Trainer(Net())
    torch.manual_seed(50 + dist.get_rank())


def run():
    for _ in range(4):
        x = torch.randn(16, 8)
        trainer.step(x, x[:, :3].argmax(-1))


TRUTH = Truth(
    rule="AG601",
    fault="the loss runs the inner module, so DDP never reduces",
    names=("body.0.weight", "body.0.bias", "head.weight", "head.bias"),
    where="own",
)

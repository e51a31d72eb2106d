"""A trainer that takes the model as it is in every other step, and wraps it anew in the others."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def replica(self, step):
        if step % 2 == 0:
            return self.model  # cause
        return DDP(self.model)

    def training_step(self, step, x):
        replica = self.replica(step)
        embedded = replica(x)  # also
        labels = torch.arange(len(x) // 2).repeat(2)
        loss = F.cross_entropy(embedded @ embedded.t(), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def setup():
    global trainer
    torch.manual_seed(0)
    trainer = Trainer(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4)))
    torch.manual_seed(30 + dist.get_rank())


def run():
    for step in range(4):
        trainer.training_step(step, torch.randn(8, 6))


TRUTH = Truth(fault="every other step reduces nothing", rule="AG601", names=("0.weight", "2.bias"))

"""Early stopping on the validation loss: each rank validates its own shard and decides for itself."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def __call__(self, value):
        self.bad = 0 if value < self.best - 1e-3 else self.bad + 1
        self.best = min(self.best, value)
        return self.bad >= self.patience


def setup():
    global model, opt, stopper, train, val
    torch.manual_seed(0)
    model = DDP(nn.Linear(6, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    stopper = EarlyStopping(patience=1)
    g = torch.Generator().manual_seed(dist.get_rank())
    x = torch.randn(8, 6, generator=g)
    train = x, x.sum(1, keepdim=True)
    v = torch.randn(4, 6, generator=g)
    val = v, v.sum(1, keepdim=True) * (1 if dist.get_rank() == 0 else -1)  # rank 1's shard is a hard one


def validate():
    with torch.no_grad():
        return F.mse_loss(model.module(val[0]), val[1])


def run():
    epochs = 0
    for _ in range(4):
        F.mse_loss(model(train[0]), train[1]).backward()  # also
        opt.step()
        opt.zero_grad()
        epochs += 1
        loss = validate()
        if stopper(loss.item()):  # cause
            break  # also
    return epochs


TRUTH = Truth(
    fault="one rank stops early on its own validation loss, the others wait in the next backward",
    rule="AG603",
    names=("DistributedDataParallel",),
    where="gather",
    raises="by peer|Timed out",
)

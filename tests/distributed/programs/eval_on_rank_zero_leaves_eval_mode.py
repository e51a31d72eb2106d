"""DDP; between epochs rank 0 alone evaluates, and train() is called before the loop over epochs only."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt, g
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))
    model = DDP(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(dist.get_rank())
    torch.manual_seed(10 + dist.get_rank())


@torch.no_grad()
def evaluate():
    model.eval()  # cause
    x = torch.randn(8, 6, generator=torch.Generator().manual_seed(99))
    return model.module(x).softmax(1).max(1).values.mean().item()


def run():
    model.train()  # also
    confidence = []
    for _ in range(3):
        for _ in range(2):
            x, y = torch.randn(6, 6, generator=g), torch.randint(0, 3, (6,), generator=g)
            F.cross_entropy(model(x), y).backward()
            opt.step()
            opt.zero_grad()
        if dist.get_rank() == 0:
            confidence.append(round(evaluate(), 4))
        dist.barrier()
    return confidence, int(model.module[1].num_batches_tracked), model.training


TRUTH = Truth(
    fault="rank 0 trains on in eval mode after its first evaluation: no dropout, BatchNorm statistics no longer updated",
    rule="AG411",
    names=("eval",),
    where="any",
)

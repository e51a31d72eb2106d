"""The model before the wrapping is still in a variable, and that is what the loop calls."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(F.relu(self.hidden(x))).squeeze(-1)


def run():
    net = Regressor()
    ddp = DDP(net)
    optimizer = torch.optim.Adam(ddp.parameters(), lr=1e-3)
    torch.manual_seed(100 + dist.get_rank())
    for _ in range(4):
        x = torch.randn(8, 5)
        optimizer.zero_grad(set_to_none=False)
        prediction = net(x)  # cause
        loss = F.mse_loss(prediction, x.sum(1))
        loss.backward()  # also
        optimizer.step()


TRUTH = Truth(fault="the raw model is called", names=("hidden.weight",), rule="AG601")

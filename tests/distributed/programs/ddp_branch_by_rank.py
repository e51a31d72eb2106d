"""Two-task model, each rank serves the task its shard holds."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class TwoTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(6, 12)
        self.tasks = nn.ModuleDict({"cls": nn.Linear(12, 3), "reg": nn.Linear(12, 1)})

    def forward(self, x, task):
        return self.tasks[task](torch.relu(self.trunk(x)))


def setup():
    global ddp, opt
    torch.manual_seed(0)
    ddp = DDP(TwoTask())  # cause
    opt = torch.optim.SGD(ddp.parameters(), lr=0.1)


def run():
    torch.manual_seed(30 + dist.get_rank())
    task = "cls" if dist.get_rank() == 0 else "reg"
    for _ in range(3):
        x = torch.randn(8, 6)
        out = ddp(x, task)
        if task == "cls":
            loss = nn.functional.cross_entropy(out, x[:, :3].argmax(1))
        else:
            loss = nn.functional.mse_loss(out, x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth(
    rule="AG603",
    fault="each rank leaves the other task's head unused, and DDP was not told",
    names=("tasks.",),
    before=True,
    raises="Expected to have finished reduction in the prior iteration",
)

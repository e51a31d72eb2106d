"""Progressive growing: add_param_group for the new block while a LambdaLR knows only the first group."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from tests.practice.truth import Truth


class GrowingNet(nn.Module):
    def __init__(self, dim=4, width=8):
        super().__init__()
        self.width = width
        self.stem = nn.Linear(dim, width)
        self.blocks = nn.ModuleList()
        self.head = nn.Linear(width, 1)

    def grow(self):
        block = nn.Linear(self.width, self.width)
        nn.init.zeros_(block.weight)
        nn.init.zeros_(block.bias)
        self.blocks.append(block)
        return block

    def forward(self, x):
        h = torch.tanh(self.stem(x))
        for block in self.blocks:
            h = h + block(h)
        return self.head(h).squeeze(-1)


class Grower:
    def __init__(self, model, optimizer, scheduler, every):
        self.model, self.optimizer, self.scheduler, self.every = model, optimizer, scheduler, every

    def after(self, step):
        if (step + 1) % self.every:
            return
        block = self.model.grow()
        self.optimizer.add_param_group({"params": block.parameters(), "lr": 0.05})  # cause


def decay(step):
    return 0.9**step


def run():
    torch.manual_seed(0)
    model = GrowingNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = LambdaLR(optimizer, decay)
    grower = Grower(model, optimizer, scheduler, every=2)
    losses = []
    for step in range(4):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x[:, 0] * x[:, 1])
        loss.backward()
        optimizer.step()
        scheduler.step()  # symptom
        losses.append(loss.item())
        grower.after(step)
    return losses


TRUTH = Truth(
    fault="the scheduler has base rates and lambdas for the groups it was built with, not for the added one",
    raises="zip() argument 2 is shorter than argument 1",
    names=("add_param_group",),
    repair=(
        "self.optimizer.add_param_group({'params': block.parameters(), 'lr': 0.05})\nself.scheduler.base_lrs.append(0.05)\nself.scheduler.lr_lambdas.append(decay)",
    ),
)

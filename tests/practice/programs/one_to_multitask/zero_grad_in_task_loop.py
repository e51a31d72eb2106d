"""One task to many: the body of the old loop was put into a loop over tasks, zero_grad with it; only the last task trains the trunk."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

TASKS = {"depth": 1, "normal": 3, "segment": 4}


class MultiTask(nn.Module):
    def __init__(self, features=8):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, 16), nn.ReLU())
        self.heads = nn.ModuleDict({task: nn.Linear(16, size) for task, size in TASKS.items()})

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


LOSSES = {"depth": F.l1_loss, "normal": F.mse_loss, "segment": F.cross_entropy}


def make_batch(size=8):
    return torch.randn(size, 8), {
        "depth": torch.rand(size, 1),
        "normal": F.normalize(torch.randn(size, 3), dim=-1),
        "segment": torch.randint(0, 4, (size,)),
    }


def train_step(model, optimizer, x, targets):
    for task, loss_fn in LOSSES.items():
        optimizer.zero_grad()  # cause
        loss = loss_fn(model(x, task), targets[task])
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def run():
    torch.manual_seed(0)
    model = MultiTask()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    before = {task: head.weight.detach().clone() for task, head in model.heads.items()}
    for _ in range(3):
        train_step(model, optimizer, *make_batch())
    return {task: torch.equal(before[task], head.weight.detach()) for task, head in model.heads.items()}


def verify(unmoved):
    assert unmoved == {"depth": True, "normal": True, "segment": False}


TRUTH = Truth(
    fault="each task's backward is preceded by zero_grad: the gradients of all tasks but the last are lost",
    names=("zero_grad",),
    repair=("model.train()",),
)

"""Channels of a compiled network are switched off by a forward hook, put on after the network has been warmed up."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.body = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = F.relu(self.stem(x))
        return self.head(F.relu(self.body(x)).mean((2, 3)))


def prune_hook(keep):
    def hook(module, inputs, output):
        return output * keep.view(1, -1, 1, 1)

    return hook


def run():
    torch.manual_seed(0)
    model = Net()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train(steps):
        for _ in range(steps):
            y = torch.randint(4, (8,))
            loss = F.cross_entropy(forward(torch.randn(8, 3, 6, 6) + y.view(-1, 1, 1, 1)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    train(2)
    importance = model.stem.weight.detach().abs().sum((1, 2, 3))
    keep = (importance > importance.median()).float()
    model.stem.register_forward_hook(prune_hook(keep))  # cause
    train(3)
    return model.stem.weight.grad[keep == 0].abs().max().item()


def verify(outcome):
    # what is multiplied with zero gets no gradient
    assert outcome > 1e-6


TRUTH = Truth(
    fault="the compiled code was made without the hook and is not made again: nothing is pruned",
    names=("stem",),
    repair=("torch._dynamo.reset(); model.stem.register_forward_hook(prune_hook(keep))",),
)

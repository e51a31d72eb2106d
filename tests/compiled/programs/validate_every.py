"""Loop with periodic validation of a compiled model."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


def make():
    return nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.2), nn.Linear(12, 2))


@torch.no_grad()
def validate(net, data):
    net.eval()
    hits = sum((net(x).argmax(1) == y).sum().item() for x, y in data)
    return hits / sum(len(y) for _, y in data)


def sample(n):
    x = torch.randn(n, 6) + 2
    return x, (x[:, 0] > 2).long()


def run():
    torch.manual_seed(0)
    model = make()
    net = torch.compile(model, backend=BACKEND)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    held = [sample(8)]
    tracked = []
    net.train()
    for epoch in range(3):
        for _ in range(2):
            x, y = sample(16)
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        accuracy = validate(net, held)  # cause
        tracked.append(model[1].num_batches_tracked.item())
    return tracked


def right(tracked):
    assert tracked == [2, 4, 6], tracked


TRUTH = Truth(
    fault="after the first validation the model stays in eval mode",
    names=("1.running_mean", "1.running_var"),
    repair=("accuracy = validate(net, held)\nnet.train()",),
)

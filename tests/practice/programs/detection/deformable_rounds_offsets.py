"""A deformable layer rounds its learned offsets and gathers by them: they get no gradient."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Deform1d(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.offset = nn.Conv1d(channels, 1, 3, padding=1)
        self.value = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        b, c, t = x.shape
        base = torch.arange(t, dtype=x.dtype)
        pos = (base + 2 * torch.tanh(self.offset(x)).squeeze(1)).clamp(0, t - 1)
        index = pos.round().long()  # cause
        return self.value(x).gather(2, index.unsqueeze(1).expand(b, c, t))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.deform, self.head = nn.Conv1d(2, 6, 3, padding=1), Deform1d(6), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.deform(torch.relu(self.stem(x))).mean(-1))


def run():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(3):
        loss = nn.functional.cross_entropy(net(torch.randn(4, 2, 9)), torch.randint(3, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.deform.offset.weight.grad


TRUTH = Truth(
    fault="an index carries no gradient",
    names=("offset",),
    repair=("index = pos.round().long(); x = x * (1 + (pos - pos.round()).unsqueeze(1))",),
)


def verify(grad):
    assert grad is None

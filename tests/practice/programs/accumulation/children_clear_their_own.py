"""Each part of a model is cleared by its own zero_grad(), in a loop over the children."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 12), nn.Linear(12, 3)

    def forward(self, x):
        return self.head(self.body(x).relu())


def run():
    torch.manual_seed(0)
    net = Net()
    opts = [torch.optim.Adam(part.parameters(), 1e-3) for part in net.children()]
    for _ in range(3):
        for part in net.children():
            part.zero_grad(set_to_none=False)
        nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(3, (8,))).backward()
        for opt in opts:
            opt.step()
    return net


TRUTH = Truth()

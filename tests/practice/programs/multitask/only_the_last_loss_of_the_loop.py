"""In the loop over the tasks the loss is assigned, not added."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.heads = nn.ModuleDict({name: nn.Linear(16, n) for name, n in tasks.items()})

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


def run():
    torch.manual_seed(0)
    tasks = {"age": 4, "sex": 2, "mood": 3}
    net = Net(tasks)
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        out = net(torch.randn(8, 6))
        for name, n in tasks.items():
            loss = nn.functional.cross_entropy(out[name], torch.randint(n, (8,)))  # cause
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


def verify(net):
    assert net.heads["age"].weight.grad is None


TRUTH = Truth(
    fault="only the last task has a loss that reaches backward",
    names=("heads.age",),
    repair=(
        "part = nn.functional.cross_entropy(out[name], torch.randint(n, (8,)))\nloss = part if name == 'age' else loss + part",
    ),
)

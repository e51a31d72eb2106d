"""A state-space layer computes its matrix from the parameter once, when it is made."""

import torch
from torch import nn

from tests.practice.truth import Truth


class StateSpace(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_a = nn.Parameter(torch.zeros(4))
        self.b, self.c = nn.Linear(3, 4), nn.Linear(4, 1)
        self.a = torch.exp(-self.log_a.exp())  # cause

    def forward(self, x):
        h = torch.zeros(len(x), 4)
        for t in range(x.shape[1]):
            h = self.a * h + self.b(x[:, t])
        return self.c(h)


def run():
    torch.manual_seed(0)
    model = StateSpace()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(2):
        loss = model(torch.randn(4, 5, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="the matrix is of the first step's graph",
    raises="Trying to backward through the graph a second time",
    names=("self.a",),
    repair=(
        "def compute(module, args):\n    module.a = torch.exp(-module.log_a.exp())\n"
        "self.register_forward_pre_hook(compute)",
    ),
)

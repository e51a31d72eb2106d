"""A compiled ensemble of functional models through stack_module_state and vmap."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Member(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 6)
        self.b = nn.Linear(6, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def setup():
    global params, buffers, forward, optimizer
    members = [Member() for _ in range(3)]
    params, buffers = torch.func.stack_module_state(members)
    template = Member().to("meta")
    optimizer = torch.optim.SGD(params.values(), lr=0.1)

    def one(p, b, x):
        return torch.func.functional_call(template, (p, b), (x,))

    forward = torch.compile(torch.vmap(one, in_dims=(0, 0, None)), backend=BACKEND)


def run():
    for _ in range(2):
        logits = forward(params, buffers, torch.randn(5, 4))
        optimizer.zero_grad()
        F.cross_entropy(logits.flatten(0, 1), torch.randint(0, 2, (15,))).backward()
        optimizer.step()

"""Message passing by `out[dst] += messages`: of the messages that go to one node, one counts."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Layer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.message, self.own = nn.Linear(i, o), nn.Linear(i, o)

    def forward(self, x, edges):
        src, dst = edges
        out = torch.zeros(len(x), self.own.out_features)
        out[dst] += self.message(x[src])  # cause
        return torch.relu(out + self.own(x))


def run():
    torch.manual_seed(0)
    one, two = Layer(5, 8), Layer(8, 3)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], 1e-2)
    x, y = torch.randn(10, 5), torch.randint(3, (10,))
    edges = torch.randint(10, (2, 40))
    for _ in range(2):
        opt.zero_grad()
        nn.functional.cross_entropy(two(one(x, edges), edges), y).backward()
        opt.step()
    src, dst = edges
    want = torch.zeros(10, 8).index_add(0, dst, one.message(x[src]))
    got = one(x, edges) - one.own(x)
    return want, got, torch.relu(want + one.own(x)) - one.own(x)


def verify(out):
    assert not torch.allclose(out[1], out[2], atol=1e-5)


TRUTH = Truth(
    fault="messages to the same node overwrite each other",
    names=("index",),
    minor=True,
    repair=("out = out.index_add(0, dst, self.message(x[src]))",),
)

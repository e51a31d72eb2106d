"""An embedding is looked up under no_grad, in a method that Dynamo is kept out of."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ()


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)

    @torch._dynamo.disable
    @torch.no_grad()
    def lookup(self, ids):
        return self.table(ids)  # cause

    def forward(self, ids):
        return self.lookup(ids) * 2.0


def setup():
    global net, head, opt, fwd, ids
    torch.manual_seed(0)
    net, head = Embed(), nn.Linear(4, 1)
    opt = torch.optim.Adam([*net.parameters(), *head.parameters()])

    def fwd(ids):
        return head(net(ids).mean(1))

    fwd = torch.compile(fwd, backend=BACKEND)
    ids = torch.randint(0, 10, (3, 5))


def run():
    for _ in range(2):
        opt.zero_grad()
        fwd(ids).sum().backward()
        opt.step()

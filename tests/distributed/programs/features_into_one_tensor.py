"""Features of all ranks by all_gather_into_tensor, which refuses a tensor that requires grad in words of its own."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def setup():
    global model, opt
    torch.manual_seed(0)

    class Towers(nn.Module):
        def __init__(self):
            super().__init__()
            self.image, self.text = nn.Linear(6, 4), nn.Linear(5, 4)

        def forward(self, a, b):
            return F.normalize(self.image(a), dim=-1), F.normalize(self.text(b), dim=-1)

    model = DDP(Towers())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(8):  # Whether it is refused depends on which thread copies first.
        a, b = model(torch.randn(8, 6, generator=g), torch.randn(8, 5, generator=g))
        every = b.new_empty(8 * dist.get_world_size(), 4)
        dist.all_gather_into_tensor(every, b)  # cause
        labels = torch.arange(8) + 8 * dist.get_rank()
        opt.zero_grad()
        F.cross_entropy(a @ every.t() / 0.1, labels).backward()  # also
        opt.step()


TRUTH = Truth(
    fault="gathered without gradient",
    rule="AG105|AG603",
    names=("all_gather_into_tensor",),
    raises="A view was created in no_grad mode",
)

"""The same layers run in two backwards of one forward window under DDP."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

from torch.utils.checkpoint import checkpoint


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        x = checkpoint(self.layer, x, use_reentrant=True)
        return checkpoint(self.layer, x, use_reentrant=True)  # also


def setup():
    global model
    torch.manual_seed(0)
    model = DDP(Twice(), find_unused_parameters=True)


def run():
    x = torch.randn(2, 4, requires_grad=True)
    loss = model(x).square().mean()  # also
    loss.backward()  # cause


TRUTH = Truth(
    fault="ready twice", names=("layer.",), rule="AG603", raises="Expected to mark a variable ready only once"
)

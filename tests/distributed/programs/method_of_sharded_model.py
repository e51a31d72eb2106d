"""A method of a sharded model that is not forward: its parameters are still shards."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 4), nn.Linear(4, 6)

    def training_loss(self, x):
        return (self.decoder(self.encoder(x).tanh()) - x).square().mean()  # also

    def forward(self, x):
        return self.decoder(self.encoder(x).tanh())


def setup():
    global model, opt
    torch.manual_seed(0)
    model = Autoencoder()
    fully_shard(model)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)


def run():
    g = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(3):
        model.training_loss(torch.randn(5, 6, generator=g)).backward()  # cause
        opt.step()
        opt.zero_grad()


TRUTH = Truth(
    fault="a method that does not gather",
    rule="AG601|AG603|AG605|AG415",
    names=("encoder",),
    raises="mixed torch.Tensor and DTensor",
)

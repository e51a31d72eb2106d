"""WGAN-style critic under FSDP1: after each step the weights are clamped inside summon_full_params."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from tests.distributed.truth import Truth

BOUND = 0.05


def setup():
    global critic, opt, g
    torch.manual_seed(0)
    critic = FSDP(
        nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)),
        use_orig_params=True,
        device_id=torch.device("cpu"),
    )
    opt = torch.optim.RMSprop(critic.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(dist.get_rank())


def clip_weights(model, bound):
    with torch.no_grad(), FSDP.summon_full_params(model, writeback=False):  # cause
        for p in model.parameters():
            p.clamp_(-bound, bound)  # also


def run():
    for _ in range(3):
        real, fake = torch.randn(4, 6, generator=g) + 1, torch.randn(4, 6, generator=g)
        (critic(fake).mean() - critic(real).mean()).backward()
        opt.step()
        opt.zero_grad()
        clip_weights(critic, BOUND)
    return round(max(p.abs().max().item() for p in critic.parameters() if p.numel()), 4)


TRUTH = Truth(
    fault="weights are clamped in summoned full parameters that are thrown away (writeback=False)",
    rule="AG205",
    names=("clamp_", "writeback"),
    where="own",
)

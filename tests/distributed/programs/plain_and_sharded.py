"""Keypoint detection: the backbone is sharded with fully_shard, the small head is whole on each rank and reduced by hand."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard

from tests.distributed.truth import Truth

MAX_NORM, POINTS = 0.5, 4


class Stage(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.conv = nn.Conv2d(inp, out, 3, padding=1)
        self.norm = nn.GroupNorm(2, out)

    def forward(self, x):
        return F.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(Stage(1, 4), Stage(4, 8))
        self.head = nn.Linear(8, 2 * POINTS)

    def forward(self, x):
        return torch.sigmoid(self.head(self.backbone(x).mean((2, 3)))).view(-1, POINTS, 2)


def reduce_head(model):
    for p in model.head.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


def clip(model):
    return nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)  # cause


def build():
    torch.manual_seed(0)
    model = Detector()
    fully_shard(model.backbone)  # also
    groups = [
        {"params": list(model.backbone.parameters()), "lr": 1e-3},
        {"params": list(model.head.parameters()), "lr": 1e-2},
    ]
    return model, torch.optim.AdamW(groups)


def setup():
    global model, opt, g
    model, opt = build()
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    for _ in range(3):
        image, points = torch.randn(4, 1, 8, 8, generator=g), torch.rand(4, POINTS, 2, generator=g)
        opt.zero_grad()
        F.smooth_l1_loss(model(image), points).backward()
        reduce_head(model)
        clip(model)
        opt.step()
    return round(model.head.weight.norm().item(), 6)


TRUTH = Truth(
    fault="one norm is asked of sharded and of plain gradients: DTensor and Tensor do not mix in a foreach call",
    rule="AG415",
    names=("clip_grad_norm_",),
    where="own",
    raises="mixed torch.Tensor and DTensor",
)

"""SimCLR on several ranks: the features of all ranks come from all_gather, which has no gradient."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def setup():
    if not dist.is_initialized():
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


def gather(z):
    out = [torch.zeros_like(z) for _ in range(dist.get_world_size())]
    dist.all_gather(out, z)  # also
    return torch.cat(out)  # cause


def info_nce(z1, z2, temperature=0.1):
    z1, z2 = gather(z1), gather(z2)  # also
    logits = z1 @ z2.t() / temperature
    labels = torch.arange(len(logits))
    return 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels))


def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


def train():
    torch.manual_seed(dist.get_rank())
    encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16))
    projector = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8))
    model = nn.Sequential(encoder, projector)
    opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    for _ in range(2):
        x = torch.randn(6, 8)
        z1 = F.normalize(model(x + 0.1 * torch.randn_like(x)), dim=1)
        z2 = F.normalize(model(x + 0.1 * torch.randn_like(x)), dim=1)
        loss = info_nce(z1, z2)
        opt.zero_grad()
        loss.backward()  # symptom
        average_gradients(model)
        opt.step()


def run():
    try:
        train()
    finally:
        dist.destroy_process_group()


TRUTH = Truth(
    fault="all_gather cuts the features off; the own ones have to be put back",
    raises="element 0 of tensors does not require grad",
    names=("all_gather",),
    repair=("out[dist.get_rank()] = z\nreturn torch.cat(out)",),
)

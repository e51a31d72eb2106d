"""Segmentation with random crops, resumed in the middle of an epoch with everything that the checkpoint has."""

import os
import random
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

SIZE, CROP = 12, 6


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 6, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(6, 2, 2, stride=2)

    def forward(self, x):
        return self.up(torch.relu(self.down(x)))


def scans(count=3):
    image = torch.randn(count, 1, SIZE, SIZE)
    return image, (F.avg_pool2d(image, 3, 1, 1) > 0).long().squeeze(1)


def crop(image, mask):
    top, left = random.randrange(SIZE - CROP), random.randrange(SIZE - CROP)
    window = slice(top, top + CROP), slice(left, left + CROP)
    return image[..., window[0], window[1]], mask[:, window[0], window[1]]


def rng_state():
    return {"torch": torch.get_rng_state(), "python": random.getstate()}


def save(path, model, opt):
    state = {"model": model.module.state_dict(), "opt": opt.state_dict(), "rng": rng_state()}
    if dist.get_rank() == 0:
        torch.save(state, path)
    dist.barrier()


def resume(path, model, opt):
    state = torch.load(path, weights_only=False)
    model.module.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])
    torch.set_rng_state(state["rng"]["torch"])  # cause
    random.setstate(state["rng"]["python"])  # cause


def train(model, opt, steps):
    for _ in range(steps):
        image, mask = crop(*scans())  # also
        opt.zero_grad()
        F.cross_entropy(model(image), mask).backward()
        opt.step()


def run():
    folder = tempfile.TemporaryDirectory()
    names = [folder.name]
    dist.broadcast_object_list(names, src=0)
    path = os.path.join(names[0], "last.pt")
    torch.manual_seed(0)
    model = DDP(Net())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    torch.manual_seed(1000 + dist.get_rank())
    random.seed(1000 + dist.get_rank())
    train(model, opt, 1)
    save(path, model, opt)
    resume(path, model, opt)
    train(model, opt, 4)
    return torch.get_rng_state().sum().item()


TRUTH = Truth(
    fault="every rank restores the random state of rank 0: from then on all draw the same scans and crops",
    rule="AG604",
    names=("set_rng_state",),
    values=True,
    where="gather",
)

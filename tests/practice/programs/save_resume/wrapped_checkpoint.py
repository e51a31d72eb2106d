"""Linear probe on a backbone restored from a multi-GPU run's checkpoint."""

import io

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv = nn.Conv1d(2, width, 5, padding=2)
        self.norm = nn.GroupNorm(4, width)
        self.proj = nn.Conv1d(width, width, 1)

    def forward(self, x):
        return self.proj(F.relu(self.norm(self.conv(x)))).mean(-1)


class Wrapper(nn.Module):
    """What the cluster's training script saved."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args):
        return self.module(*args)


def write_checkpoint():
    file = io.BytesIO()
    torch.manual_seed(99)
    torch.save({"state_dict": Wrapper(Backbone()).state_dict(), "epoch": 30}, file)
    file.seek(0)
    return file


def load_backbone(file):
    backbone = Backbone()
    state = torch.load(file)["state_dict"]
    backbone.load_state_dict(state, strict=False)  # cause
    return backbone.eval().requires_grad_(False)


probe = reference = None


def setup():
    global probe, reference
    file = write_checkpoint()
    reference = {k.removeprefix("module."): v for k, v in torch.load(file)["state_dict"].items()}
    file.seek(0)
    torch.manual_seed(0)
    probe = nn.Sequential(load_backbone(file), nn.Linear(16, 2))


def run():
    torch.manual_seed(1)
    opt = torch.optim.Adam(probe[1].parameters(), lr=1e-2)
    for _ in range(4):
        x, y = torch.randn(8, 2, 20), torch.randint(0, 2, (8,))
        loss = F.cross_entropy(probe(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return probe[0].state_dict(), reference


TRUTH = Truth(
    fault="no key of the checkpoint matches (prefix), strict=False hides it: the frozen backbone is random",
    names=("strict",),
    before=True,
    repair=("state = {k.removeprefix('module.'): v for k, v in state.items()}\nbackbone.load_state_dict(state)",),
)


def well(out):
    got, want = out
    assert all(torch.equal(got[k], want[k]) for k in want)


verify = fails(well)

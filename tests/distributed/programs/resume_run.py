"""Save on rank 0, then resume in a fresh DDP model."""

import io

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def make():
    net = DDP(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)))
    return net, torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


def train(net, opt, steps, seed):
    g = torch.Generator().manual_seed(seed + dist.get_rank())
    for _ in range(steps):
        x = torch.randn(8, 6, generator=g)
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()


def save(net, opt):
    buf = io.BytesIO()
    torch.save({"model": net.module.state_dict(), "opt": opt.state_dict()}, buf)
    return buf.getvalue()


def load(net, opt, blob):
    state = torch.load(io.BytesIO(blob), weights_only=True)
    net.module.load_state_dict(state["model"])
    if dist.get_rank() == 0:  # cause
        opt.load_state_dict(state["opt"])  # also


def setup():
    global net, opt
    torch.manual_seed(0)
    net, opt = make()


def run():
    global net, opt
    train(net, opt, 3, 1)
    box = [save(net, opt) if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    net, opt = make()
    load(net, opt, box[0])
    train(net, opt, 3, 50)


TRUTH = Truth(
    rule="AG602",
    fault="only rank 0 gets its momentum back on resume",
    names=("0.weight", "0.bias", "2.weight", "2.bias"),
    where="gather",
)

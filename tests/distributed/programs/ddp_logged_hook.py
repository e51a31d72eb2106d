"""DDP with a custom communication hook that also logs the bucket sizes."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


class HookState:
    def __init__(self, group=None):
        self.group = group or dist.group.WORLD
        self.bytes = 0


def logged_allreduce(state, bucket):
    buf = bucket.buffer()
    state.bytes += buf.numel() * buf.element_size()
    fut = dist.all_reduce(buf, group=state.group, async_op=True).get_future()  # also

    def finish(f):
        out = f.value()[0]
        return out  # cause

    return fut.then(finish)


def setup():
    global model, opt, state, data, start
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Sigmoid(), nn.Linear(7, 1))
    start = [p.detach().clone() for p in model.parameters()]
    model = DDP(model)
    state = HookState()
    model.register_comm_hook(state, logged_allreduce)  # also
    opt = torch.optim.SGD(model.parameters(), lr=0.2)
    g = torch.Generator().manual_seed(9)
    data = [(torch.randn(8, 5, generator=g), torch.randn(8, 1, generator=g)) for _ in range(3)]


def run():
    r, w = dist.get_rank(), dist.get_world_size()
    for x, y in data:
        opt.zero_grad()
        out = model(x[r::w])
        nn.functional.mse_loss(out, y[r::w]).backward()
        opt.step()


TRUTH = Truth(
    rule="AG601",
    fault="the hook sums and never divides: gradients are world size times too big",
    names=("0.weight", "0.bias", "2.weight", "2.bias"),
)

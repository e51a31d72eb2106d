"""DDP with the memory trick of stepping each parameter's optimizer in its post-accumulate hook."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth


def step_in_backward(params, lr):
    optimizers = {p: torch.optim.SGD([p], lr=lr, momentum=0.9) for p in params}

    def hook(p):
        optimizers[p].step()  # cause
        optimizers[p].zero_grad()  # also

    for p in params:
        p.register_post_accumulate_grad_hook(hook)  # also
    return optimizers


def setup():
    global model, optimizers, g
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    model = DDP(net)
    optimizers = step_in_backward(list(net.parameters()), lr=0.05)
    g = torch.Generator().manual_seed(dist.get_rank())


def run():
    losses = []
    for _ in range(4):
        x, y = torch.randn(4, 6, generator=g), torch.randint(0, 3, (4,), generator=g)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        losses.append(round(loss.item(), 4))
    return losses, round(model.module[0].weight.norm().item(), 5)


TRUTH = Truth(
    fault="the optimizer steps in the hook, on local gradients, before DDP has reduced them: the ranks drift apart",
    rule="AG601",
    names=("hook", "step()"),
    where="own",
)

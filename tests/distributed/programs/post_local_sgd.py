"""Post-local SGD with the hook and the averager of torch: all_reduce at first, then local steps within each node."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from tests.distributed.truth import Truth

GPUS_PER_NODE = 1
CONFIG = {"start_local": 2, "period": 2, "averager_warmup": 200, "lr": 0.1, "steps": 6}


class Mixer(nn.Module):
    """MLP-Mixer, one block."""

    def __init__(self, tokens=4, dim=6, classes=3):
        super().__init__()
        self.patch = nn.Linear(5, dim)
        self.tokens = nn.Sequential(nn.LayerNorm(tokens), nn.Linear(tokens, 8), nn.GELU(), nn.Linear(8, tokens))
        self.channels = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 8), nn.GELU(), nn.Linear(8, dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch(x)
        x = x + self.tokens(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(x)
        return self.head(x.mean(1))


def node_group():
    world, rank = dist.get_world_size(), dist.get_rank()
    groups = [dist.new_group(range(i, i + GPUS_PER_NODE)) for i in range(0, world, GPUS_PER_NODE)]
    return groups[rank // GPUS_PER_NODE]


def build_optimizer(model):
    inner = torch.optim.SGD(model.parameters(), lr=CONFIG["lr"], momentum=0.9)
    averager = PeriodicModelAverager(period=CONFIG["period"], warmup_steps=CONFIG["averager_warmup"])  # cause
    return PostLocalSGDOptimizer(inner, averager)


def run():
    torch.manual_seed(0)
    model = DDP(Mixer())
    state = PostLocalSGDState(
        process_group=None,
        subgroup=node_group(),
        start_localSGD_iter=CONFIG["start_local"],  # also
    )
    model.register_comm_hook(state, post_localSGD_hook)  # also
    opt = build_optimizer(model)
    g = torch.Generator().manual_seed(21 + dist.get_rank())
    for _ in range(CONFIG["steps"]):
        x, y = torch.randn(8, 4, 5, generator=g), torch.randint(0, 3, (8,), generator=g)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()  # also
    return [round(p.norm().item(), 5) for p in model.parameters()][:4]


TRUTH = Truth(
    fault="gradients turn local after two steps, the averager begins after 200: in between nothing keeps the ranks together",
    rule="AG601",
    names=("patch.weight",),
    where="any",
)

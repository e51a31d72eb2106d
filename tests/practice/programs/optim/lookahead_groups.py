"""Optimizers: Lookahead copies the base optimizer's groups, so that the schedule changes a learning rate no one reads."""

import math
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer

from tests.practice.truth import Truth


class Lookahead(Optimizer):
    def __init__(self, base_optimizer, alpha=0.5, k=6):
        if not 0.0 <= alpha <= 1.0:
            raise ValueError(f"Invalid slow update rate: {alpha}")
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = {}, {}
        self.base_optimizer = base_optimizer
        self.param_groups = [dict(group) for group in base_optimizer.param_groups]  # cause
        self.defaults = dict(base_optimizer.defaults, lookahead_alpha=alpha, lookahead_k=k, lookahead_step=0)
        self.state = defaultdict(dict)
        for group in self.param_groups:
            group.update(lookahead_alpha=alpha, lookahead_k=k, lookahead_step=0)

    @torch.no_grad()
    def update_slow(self, group):
        for fast_p in group["params"]:
            if fast_p.grad is None:
                continue
            param_state = self.state[fast_p]
            if "lookahead_slow_buff" not in param_state:
                param_state["lookahead_slow_buff"] = torch.empty_like(fast_p)
                param_state["lookahead_slow_buff"].copy_(fast_p)
            slow = param_state["lookahead_slow_buff"]
            slow.add_(fast_p - slow, alpha=group["lookahead_alpha"])
            fast_p.copy_(slow)

    @torch.no_grad()
    def step(self, closure=None):
        loss = self.base_optimizer.step(closure)
        for group in self.param_groups:
            group["lookahead_step"] += 1
            if group["lookahead_step"] % group["lookahead_k"] == 0:
                self.update_slow(group)
        return loss

    def zero_grad(self, set_to_none=True):
        self.base_optimizer.zero_grad(set_to_none)


def add_weight_decay(model, weight_decay=1e-5, skip_list=()):
    decay, no_decay = [], []
    for name, param in model.named_parameters():
        (no_decay if param.ndim <= 1 or name.endswith(".bias") or name in skip_list else decay).append(param)
    return [{"params": no_decay, "weight_decay": 0.0}, {"params": decay, "weight_decay": weight_decay}]


class Net(nn.Module):
    def __init__(self, width=16, classes=4):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(10, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, width), nn.GELU()
        )
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.body(x))


def create_optimizer(model, lr):
    base = torch.optim.RAdam(add_weight_decay(model), lr=lr)
    return Lookahead(base, alpha=0.5, k=2)


def create_scheduler(optimizer, warmup, total):
    def shape(step):
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, shape)


def run():
    torch.manual_seed(0)
    model = Net()
    optimizer = create_optimizer(model, lr=1e-2)
    scheduler = create_scheduler(optimizer, warmup=2, total=6)
    seen = []
    for _ in range(5):
        x, y = torch.randn(16, 10), torch.randint(0, 4, (16,))
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        seen.append((scheduler.get_last_lr()[0], optimizer.base_optimizer.param_groups[0]["lr"]))
    return seen


def verify(seen):
    assert len({base for _, base in seen}) == 1 and len({wanted for wanted, _ in seen}) > 1


TRUTH = Truth(
    fault="the scheduler changes Lookahead's copies of the groups, the base optimizer keeps its learning rate",
    names=("lr", "param_groups"),
    repair=("self.param_groups = base_optimizer.param_groups",),
)

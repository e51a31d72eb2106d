"""timm-like Lookahead around AdamW: the wrapper copies the groups, so the schedule's learning rates never reach AdamW."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer

from tests.practice.truth import Truth


class Lookahead(Optimizer):
    def __init__(self, base_optimizer, alpha=0.5, k=3):
        super().__init__(base_optimizer.param_groups, {"lookahead_alpha": alpha, "lookahead_k": k})
        self.base_optimizer = base_optimizer
        self.param_groups = [dict(g) for g in base_optimizer.param_groups]  # cause
        self.alpha, self.k, self.count = alpha, k, 0

    @torch.no_grad()
    def update_slow(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "slow" not in state:
                    state["slow"] = p.detach().clone()
                state["slow"].lerp_(p, self.alpha)
                p.copy_(state["slow"])

    def step(self, closure=None):
        loss = self.base_optimizer.step(closure)
        self.count += 1
        if self.count % self.k == 0:
            self.update_slow()
        return loss


class CosineLRScheduler:
    """timm's: it writes into the groups of the optimizer that it was given."""

    def __init__(self, optimizer, t_initial, warmup_t, warmup_lr_init):
        self.optimizer = optimizer
        self.base_lrs = [g["lr"] for g in optimizer.param_groups]
        self.t_initial, self.warmup_t, self.warmup_lr_init = t_initial, warmup_t, warmup_lr_init
        self.step_update(0)

    def step_update(self, n):
        for g, base in zip(self.optimizer.param_groups, self.base_lrs):
            if n < self.warmup_t:
                g["lr"] = self.warmup_lr_init + (base - self.warmup_lr_init) * n / self.warmup_t
            else:
                g["lr"] = base * 0.5 * (1 + torch.cos(torch.tensor(torch.pi * n / self.t_initial)).item())


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 3))
    base = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    optimizer = Lookahead(base)
    scheduler = CosineLRScheduler(optimizer, t_initial=6, warmup_t=2, warmup_lr_init=0.0)
    log = []
    for update in range(4):
        x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
        before = model[0].weight.detach().clone()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step_update(update + 1)
        moved = (model[0].weight.detach() - before).abs().max().item()
        log.append((optimizer.param_groups[0]["lr"], base.param_groups[0]["lr"], moved))
    return log


def verify(outcome):
    assert outcome[0][2] > 1e-3  # warm-up begins with a learning rate of 0
    assert all(inner == 1e-2 for _, inner, _ in outcome)
    assert len({outer for outer, _, _ in outcome}) > 1


TRUTH = Truth(
    fault="Lookahead holds copies of the param_groups: the scheduler sets their lr, and AdamW steps with the lr it was made with",
    names=("param_groups",),
    repair=("self.param_groups = base_optimizer.param_groups",),
)

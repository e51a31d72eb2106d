"""Mixed precision for video: gradients are clipped to 1 while still scaled by 4096, after unscaling almost nothing is left of them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ActionNet(nn.Module):
    def __init__(self, joints=8, actions=4):
        super().__init__()
        self.temporal = nn.Conv1d(joints, 12, 3, padding=1)
        self.out = nn.Linear(12, actions)

    def forward(self, x):
        return self.out(F.gelu(self.temporal(x)).mean(-1))


def skeletons(n):
    y = torch.arange(n) % 4
    x = 0.3 * torch.randn(n, 8, 10)
    x[torch.arange(n), 2 * y] += 1.5
    return x, y


class AmpLoop:
    def __init__(self, model, lr=0.5, max_norm=1.0):
        self.model, self.max_norm = model, max_norm
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)

    def clip(self):
        return nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)  # also

    def step(self, x, y):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(x)
        loss = F.cross_entropy(logits.float(), y)
        self.scaler.scale(loss).backward()
        norm = self.clip()  # cause
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item(), norm.item()


def run():
    torch.manual_seed(0)
    model = ActionNet()
    loop = AmpLoop(model)
    x, y = skeletons(32)
    start = [p.detach().clone() for p in model.parameters()]
    log = [loop.step(x, y) for _ in range(4)]
    moved = max((p.detach() - s).abs().max().item() for p, s in zip(model.parameters(), start))
    return moved, log


def verify(outcome):
    moved, log = outcome
    assert moved < 1e-3
    assert log[0][1] > 100


TRUTH = Truth(
    fault="unscale_ has to come before clip_grad_norm_",
    names=("clip_grad_norm_", "unscale_"),
    repair=("self.scaler.unscale_(self.optimizer)\nnorm = self.clip()",),
)

"""One step to accumulation, healthy: GradScaler, unscale_ before clipping at the window's end, a flush for the last window, clearing after the step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(6, 12)
        self.norm = nn.LayerNorm(12)
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        return self.out(F.relu(self.norm(self.stem(x))))


class Loop:
    def __init__(self, model, accumulate=2, max_norm=1e3):
        self.model, self.accumulate, self.max_norm = model, accumulate, max_norm
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
        self.used = []

    def flush(self):
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.used.append(self.model.out.weight.grad.clone())
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def epoch(self, batches):
        for start in range(0, len(batches), self.accumulate):
            window = batches[start : start + self.accumulate]
            for x, y in window:
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    logits = self.model(x)
                loss = F.cross_entropy(logits.float(), y) / len(window)
                self.scaler.scale(loss).backward()
            self.flush()


def run():
    torch.manual_seed(0)
    batches = [(torch.randn(6, 6), torch.randint(0, 3, (6,))) for _ in range(3)]
    loop = Loop(Net())
    before = loop.model.out.weight.detach().clone()
    exact = sum(
        torch.autograd.grad(F.cross_entropy(loop.model(x), y) / 2, loop.model.out.weight)[0] for x, y in batches[:2]
    )
    loop.epoch(batches)
    return before, loop.model.out.weight, exact, loop.used


def verify(outcome):
    before, weight, exact, used = outcome
    assert len(used) == 2 and weight.grad is None and not torch.equal(before, weight.detach())
    assert torch.allclose(exact, used[0], atol=2e-2)


TRUTH = Truth()

"""EMA weights are swapped into the live model by exchanging .data for each evaluation and swapped back before the next step."""

import contextlib
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Ema:
    def __init__(self, model, decay):
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.shadow = [p.detach().clone() for p in self.params]
        self.decay, self.updates = decay, 0

    @torch.no_grad()
    def update(self):
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        torch._foreach_lerp_(self.shadow, self.params, 1 - decay)

    def exchange(self):
        for i, p in enumerate(self.params):
            p.data, self.shadow[i] = self.shadow[i], p.data

    @contextlib.contextmanager
    def applied(self):
        self.exchange()
        try:
            yield
        finally:
            self.exchange()


def build():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 10), nn.ReLU(), nn.Dropout(0.2), nn.Linear(10, 2))


@torch.inference_mode()
def evaluate(model, x):
    model.eval()
    out = model(x).clone()
    model.train()
    return out


def run():
    model = build()
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-2)
    ema = Ema(model, 0.99)
    val = torch.randn(5, 4)
    scores, snapshots = [], []
    for _ in range(4):
        x, y = torch.randn(8, 4), torch.randint(2, (8,))
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
        ema.update()
        snapshots.append([p.detach().clone() for p in model.parameters()])
        with ema.applied():
            scores.append(evaluate(model, val))
    return model, ema, val, scores, snapshots


def verify(outcome):
    model, ema, val, scores, snapshots = outcome
    twin = build().eval()
    average = [p.detach().clone() for p in twin.parameters()]
    torch.randn(5, 4)
    for step, (score, weights) in enumerate(zip(scores, snapshots), start=1):
        d = min(0.99, (1 + step) / (10 + step))
        average = [d * a + (1 - d) * w for a, w in zip(average, weights)]
        with torch.no_grad():
            for p, a in zip(twin.parameters(), average):
                p.copy_(a)
            assert torch.allclose(twin(val), score, atol=1e-5)
    for p, w, earlier in zip(model.parameters(), snapshots[-1], snapshots[-2]):
        assert torch.equal(p, w) and not torch.equal(w, earlier)
    # the training itself is not disturbed by the evaluations
    plain = build()
    opt = torch.optim.RMSprop(plain.parameters(), lr=1e-2)
    torch.randn(5, 4)
    for _ in range(4):
        x, y = torch.randn(8, 4), torch.randint(2, (8,))
        opt.zero_grad()
        F.cross_entropy(plain(x), y).backward()
        opt.step()
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(plain.parameters(), model.parameters()))


TRUTH = Truth()

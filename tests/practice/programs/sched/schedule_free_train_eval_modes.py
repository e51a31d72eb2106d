"""Schedule-Free AdamW: the optimizer swaps the weights between x and y in train()/eval(); BatchNorm statistics are refreshed before eval."""

import schedulefree
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 10, bias=False), nn.BatchNorm1d(10), nn.ReLU(), nn.Linear(10, 2))


def data():
    g = torch.Generator().manual_seed(4)
    return [(torch.randn(12, 5, generator=g), torch.randint(2, (12,), generator=g)) for _ in range(4)]


def refresh_statistics(model, batches):
    bn = model[1]
    bn.reset_running_stats()
    keep, bn.momentum = bn.momentum, None
    model.train()
    with torch.no_grad():
        for x, _ in batches:
            model(x)
    bn.momentum = keep


def validate(model, opt, batches):
    opt.eval()
    refresh_statistics(model, batches)
    model.eval()
    with torch.no_grad():
        score = torch.stack([F.cross_entropy(model(x), y) for x, y in batches]).mean()
    weights = [p.detach().clone() for p in model.parameters()]
    model.train()
    opt.train()
    return score, weights


def run():
    model = build()
    opt = schedulefree.SGDScheduleFree(model.parameters(), lr=0.3, momentum=0.9)
    opt.train()
    averaged = []
    for x, y in data():
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
        averaged.append(validate(model, opt, data()))
    return averaged, [p.detach().clone() for p in model.parameters()]


def verify(outcome):
    averaged, last = outcome
    plain = build()
    params = list(plain.parameters())
    z = [p.detach().clone() for p in params]
    x_avg = [p.detach().clone() for p in params]
    start = [p.detach().clone() for p in params]
    for k, (x, y) in enumerate(data()):
        with torch.no_grad():
            for p, a, b in zip(params, z, x_avg):
                p.copy_(0.1 * a + 0.9 * b)
        grads = torch.autograd.grad(F.cross_entropy(plain(x), y), params)
        z = [a - 0.3 * g for a, g in zip(z, grads)]
        x_avg = [b + (a - b) / (k + 1) for a, b in zip(z, x_avg)]
        score, weights = averaged[k]
        assert torch.isfinite(score)
        for w, b, s in zip(weights, x_avg, start):
            assert torch.allclose(w, b, atol=1e-4) and not torch.equal(w, s)
    for p, a, b in zip(last, z, x_avg):
        assert torch.allclose(p, 0.1 * a + 0.9 * b, atol=1e-4)


TRUTH = Truth()

"""SWA: AveragedModel copies weights every second step, cyclic SWALR, then momentum-free BatchNorm statistics; the live model trains on."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from tests.practice.truth import Truth


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))


def loader():
    g = torch.Generator().manual_seed(1)
    return [(torch.randn(10, 5, generator=g) * 2 + 1, torch.randint(2, (10,), generator=g)) for _ in range(3)]


def run():
    model = build()
    swa = AveragedModel(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    anneal = SWALR(opt, swa_lr=0.05, anneal_epochs=2, anneal_strategy="linear")
    collected, rates = [], []
    for step in range(6):
        x, y = loader()[step % 3]
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
        anneal.step()
        rates.append(opt.param_groups[0]["lr"])
        if step % 2:
            swa.update_parameters(model)
            collected.append([p.detach().clone() for p in model.parameters()])
    update_bn([x for x, _ in loader()], swa)
    swa.eval()
    with torch.no_grad():
        score = swa(loader()[0][0])
    return model, swa, collected, rates, score


def verify(outcome):
    model, swa, collected, rates, score = outcome
    assert len(collected) == 3 == int(swa.n_averaged) and abs(rates[-1] - 0.05) < 1e-9
    mean = [torch.stack(ws).mean(0) for ws in zip(*collected)]
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(swa.parameters(), mean))
    w, gamma, beta, w2, b2 = mean
    pre = [x @ w.T for x, _ in loader()]
    mu = torch.stack([p.mean(0) for p in pre]).mean(0)
    var = torch.stack([p.var(0) for p in pre]).mean(0)
    h = ((pre[0] - mu) / (var + 1e-5).sqrt() * gamma + beta).relu()
    assert torch.allclose(h @ w2.T + b2, score, atol=1e-4)
    plain = build()
    start = [p.detach().clone() for p in plain.parameters()]
    params, vel = list(plain.parameters()), [0] * 5
    for step, lr in enumerate([0.2, *rates[:-1]]):
        x, y = loader()[step % 3]
        grads = torch.autograd.grad(F.cross_entropy(plain(x), y), params)
        vel = [0.9 * v + g for v, g in zip(vel, grads)]
        for p, v in zip(params, vel):
            p.data -= lr * v
    for a, b, s in zip(model.parameters(), params, start):
        assert torch.allclose(a, b, atol=1e-5) and not torch.equal(a, s)


TRUTH = Truth()

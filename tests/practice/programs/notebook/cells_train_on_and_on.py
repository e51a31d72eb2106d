"""A notebook session: cells re-run, optimizers re-made on purpose, layers frozen then thawed, loss lists kept, the last batch inspected."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

SEED = 0


def make_model():
    torch.manual_seed(SEED)
    return nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 3))


def cells():
    g = torch.Generator().manual_seed(10)
    return [(torch.randn(10, 6, generator=g), torch.randint(3, (10,), generator=g)) for _ in range(6)]


def run():
    history = []
    data = cells()

    # In [3]: quick look, nothing is trained
    model = make_model()
    x, y = data[0]
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    norms = [p.grad.norm().item() for p in model.parameters()]

    # In [4]: start over with a clean model
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in data[:2]:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss)  # with its graph; freed by the backward
    history = [h.item() for h in history]

    # In [7]: head only, with another optimizer
    for p in model[:4].parameters():
        p.requires_grad = False
        p.grad = None
    optimizer = torch.optim.Adam(model[4].parameters(), lr=1e-2)
    for x, y in data[2:4]:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    frozen = [p.detach().clone() for p in model[:4].parameters()]

    # In [9]: everything again; the optimizer of In [7] is dropped
    for p in model.parameters():
        p.requires_grad_(True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for x, y in data[4:]:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss.item())

    # In [11]: saliency of the last batch
    probe = x.clone().requires_grad_()
    model(probe).logsumexp(1).sum().backward()
    optimizer.zero_grad()
    return model, history, norms, frozen, probe.grad


def verify(outcome):
    model, history, norms, frozen, saliency = outcome
    plain = make_model()
    params, velocity, m, v = list(plain.parameters()), None, 0, 0
    for i, (x, y) in enumerate(cells()):
        loss = F.cross_entropy(plain(x), y)
        assert abs(loss.item() - history[i]) < 1e-5
        grads = torch.autograd.grad(loss, params)
        if i < 2:
            steps = [0.1 * g for g in grads]
        elif i < 4:
            t = i - 1
            m = [0.1 * g + 0.9 * (m[j] if m else 0) for j, g in enumerate(grads[4:])]
            v = [0.001 * g * g + 0.999 * (v[j] if v else 0) for j, g in enumerate(grads[4:])]
            adam = [0.01 * (a / (1 - 0.9**t)) / ((b / (1 - 0.999**t)).sqrt() + 1e-8) for a, b in zip(m, v)]
            steps = [0 * g for g in grads[:4]] + adam
        else:
            velocity = list(grads) if velocity is None else [0.9 * a + g for a, g in zip(velocity, grads)]
            steps = [0.05 * a for a in velocity]
        for p, s in zip(params, steps):
            p.data -= s
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(model.parameters(), params))
    assert all(not torch.equal(a, b) for a, b in zip(frozen, list(model.parameters())[:4]))
    assert min(norms) > 0 and saliency.abs().sum() > 0


TRUTH = Truth()

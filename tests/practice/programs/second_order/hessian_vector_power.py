"""The largest eigenvalue of the Hessian by power iteration: grad of grad with its graph, vectors without one."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def normalise(vs):
    s = sum((v * v).sum() for v in vs).sqrt().item() + 1e-6
    return [v / s for v in vs]


def top_eigenvalue(model, x, y, iters=5):
    params = [p for p in model.parameters() if p.requires_grad]
    loss = F.cross_entropy(model(x), y)
    grads = torch.autograd.grad(loss, params, create_graph=True)
    v = normalise([torch.randn_like(p) for p in params])
    eigenvalue = None
    for i in range(iters):
        Hv = torch.autograd.grad(grads, params, grad_outputs=v, retain_graph=i < iters - 1)
        new = sum((h * u).sum() for h, u in zip(Hv, v)).item()
        v = normalise(Hv)
        if eigenvalue is not None and abs(new - eigenvalue) / (abs(eigenvalue) + 1e-6) < 1e-3:
            break
        eigenvalue = new
    return eigenvalue


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    sharpness, kept = [], []
    for step in range(4):
        x, y = torch.randn(16, 6), torch.randint(3, (16,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        if step % 2 == 1:
            before = [p.grad.clone() for p in model.parameters()]
            sharpness.append(top_eigenvalue(model, x, y))
            kept.append(all(torch.equal(a, p.grad) for a, p in zip(before, model.parameters())))
            optimizer.param_groups[0]["lr"] = min(0.2, 1.0 / max(sharpness[-1], 1e-3))
        optimizer.step()
    return model, sharpness, kept


TRUTH = Truth()


def verify(out):
    model, sharpness, kept = out
    assert all(kept) and all(0 < abs(s) < 1e3 for s in sharpness)
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())

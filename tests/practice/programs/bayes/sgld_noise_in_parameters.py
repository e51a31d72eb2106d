"""SGLD with a cyclical step: noise is injected in place into the weights after each step; posterior samples are stored as clones."""

import math
import torch
from torch import nn
from tests.practice.truth import Truth


class SGLD(torch.optim.Optimizer):
    def __init__(self, params, lr, temperature=1.0, generator=None):
        super().__init__(params, dict(lr=lr, temperature=temperature))
        self.generator = generator

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                noise = torch.randn(p.shape, generator=self.generator, dtype=p.dtype)
                p.add_(p.grad, alpha=-0.5 * group["lr"])
                p.add_(noise, alpha=math.sqrt(group["lr"] * group["temperature"]))


class BayesRegressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
        self.log_noise = nn.Parameter(torch.zeros(()))

    def potential(self, x, y, total):
        like = torch.distributions.Normal(self.net(x).squeeze(1), self.log_noise.exp()).log_prob(y)
        prior = sum(p.square().sum() for p in self.parameters()) / 2
        return -like.mean() * total + prior


def run():
    torch.manual_seed(0)
    model = BayesRegressor()
    x = torch.randn(40, 3)
    y = x.sum(1) + 0.1 * torch.randn(40)
    opt = SGLD(model.parameters(), 1e-3, generator=torch.Generator().manual_seed(11))
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda t: 0.5 * (math.cos(math.pi * (t % 3) / 3) + 1))
    start = {k: v.clone() for k, v in model.state_dict().items()}
    samples, order = [], []
    for step in range(6):
        rows = torch.randperm(40)[:10]
        opt.zero_grad()
        model.potential(x[rows], y[rows], 40).backward()
        opt.step()
        schedule.step()
        order.append(rows)
        if step % 3 == 2:
            samples.append({k: v.detach().clone() for k, v in model.state_dict().items()})
    with torch.no_grad():
        predictive = torch.stack(
            [
                torch.func.functional_call(model.net, {k[4:]: v for k, v in s.items() if k != "log_noise"}, (x,))
                for s in samples
            ]
        )
    return x, y, start, order, samples, predictive


def verify(outcome):
    x, y, start, order, samples, predictive = outcome
    model = BayesRegressor()
    model.load_state_dict(start)
    g, got = torch.Generator().manual_seed(11), []
    names = [n for n, _ in model.named_parameters()]
    for step, rows in enumerate(order):
        lr = 1e-3 * 0.5 * (math.cos(math.pi * (step % 3) / 3) + 1)
        grads = torch.autograd.grad(model.potential(x[rows], y[rows], 40), list(model.parameters()))
        for p, d in zip(model.parameters(), grads):
            p.data = p.data - 0.5 * lr * d + math.sqrt(lr) * torch.randn(p.shape, generator=g)
        if step % 3 == 2:
            got.append({n: p.detach().clone() for n, p in zip(names, model.parameters())})
    for a, b in zip(samples, got):
        assert all(torch.allclose(a[n], b[n], atol=1e-5) for n in names)
    assert any(not torch.equal(samples[0][n], samples[1][n]) for n in names) and predictive.shape == (2, 40, 1)


TRUTH = Truth()

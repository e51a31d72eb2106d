"""Forward gradients: a jvp along a random tangent replaces backpropagation; the whole training runs under no_grad."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call, jvp
from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 9), nn.SiLU(), nn.Linear(9, 3))

    def forward(self, x):
        return self.net(x)


class ForwardGradient:
    def __init__(self, model, optimizer, seed):
        self.model, self.optimizer = model, optimizer
        self.generator = torch.Generator().manual_seed(seed)

    @torch.no_grad()
    def step(self, x, y, directions=2):
        params = {n: p.detach() for n, p in self.model.named_parameters()}

        def loss(weights):
            return F.cross_entropy(functional_call(self.model, weights, (x,)), y)

        total = {n: torch.zeros_like(p) for n, p in params.items()}
        slopes = []
        for _ in range(directions):
            v = {n: torch.randn(p.shape, generator=self.generator, dtype=p.dtype) for n, p in params.items()}
            value, slope = jvp(loss, (params,), (v,))
            for n in total:
                total[n].add_(v[n] * slope / directions)
            slopes.append(slope)
        for n, p in self.model.named_parameters():
            p.grad = total[n]
        self.optimizer.step()
        return value, torch.stack(slopes)


def run():
    torch.manual_seed(0)
    model = Classifier().double()
    trainer = ForwardGradient(model, torch.optim.SGD(model.parameters(), lr=0.05), 17)
    log = []
    for _ in range(3):
        x, y = torch.randn(8, 4, dtype=torch.double), torch.randint(3, (8,))
        before = {k: v.clone() for k, v in model.state_dict().items()}
        value, slopes = trainer.step(x, y)
        log.append((x, y, before, value, slopes, {n: p.grad.clone() for n, p in model.named_parameters()}))
    return model, log


def verify(outcome):
    model, log = outcome
    twin, g = Classifier().double(), torch.Generator().manual_seed(17)
    for x, y, before, value, slopes, grads in log:
        twin.load_state_dict(before)
        loss = F.cross_entropy(twin(x), y)
        assert torch.allclose(loss, value)
        exact = torch.autograd.grad(loss, list(twin.parameters()))
        total = [torch.zeros_like(e) for e in exact]
        for k in range(2):
            vs = [torch.randn(e.shape, generator=g, dtype=e.dtype) for e in exact]
            slope = sum((e * v).sum() for e, v in zip(exact, vs))
            assert torch.allclose(slope, slopes[k], atol=1e-10)
            total = [t + slope * v / 2 for t, v in zip(total, vs)]
        assert all(torch.allclose(t, got, atol=1e-10) for t, got in zip(total, grads.values()))
    assert all(not torch.equal(p, log[0][2][n]) for n, p in model.named_parameters())


TRUTH = Truth()

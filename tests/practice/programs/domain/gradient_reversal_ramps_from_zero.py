"""DANN: gradient reversal whose strength starts at exactly 0, so in step one the domain loss sends only zeros to the features."""

import math
import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.neg() * ctx.strength, None


class Dann(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(5, 10), nn.ReLU())
        self.label = nn.Linear(10, 3)
        self.domain = nn.Linear(10, 2)

    def forward(self, x, strength):
        z = self.features(x)
        return self.label(z), self.domain(Reverse.apply(z, strength))


def strength_at(step, total):
    return 2 / (1 + math.exp(-10 * step / total)) - 1


def run():
    torch.manual_seed(0)
    model = Dann()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    log = []
    for step in range(4):
        xs, ys, xt = torch.randn(8, 5), torch.randint(3, (8,)), torch.randn(8, 5) + 1
        s = strength_at(step, 4)
        state = {k: v.clone() for k, v in model.state_dict().items()}
        y_hat, d_src = model(xs, s)
        _, d_tgt = model(xt, s)
        domain = F.cross_entropy(torch.cat([d_src, d_tgt]), torch.tensor([0] * 8 + [1] * 8))
        opt.zero_grad()
        (F.cross_entropy(y_hat, ys) + domain).backward()
        log.append((s, state, xs, ys, xt, {k: p.grad.clone() for k, p in model.named_parameters()}))
        opt.step()
    return model, log


def verify(outcome):
    model, log = outcome
    assert log[0][0] == 0
    twin = Dann()
    for s, state, xs, ys, xt, grads in log:
        twin.load_state_dict(state)
        task = F.cross_entropy(twin.label(twin.features(xs)), ys)
        both = twin.domain(twin.features(torch.cat([xs, xt])))
        dom = F.cross_entropy(both, torch.tensor([0] * 8 + [1] * 8))
        feats = list(twin.features.parameters())
        a = torch.autograd.grad(task, feats, retain_graph=True)
        b = torch.autograd.grad(dom, feats, retain_graph=True)
        for n, x, y in zip(("features.0.weight", "features.0.bias"), a, b):
            assert torch.allclose(grads[n], x - s * y, atol=1e-6)
        for n, x in zip(("domain.weight", "domain.bias"), torch.autograd.grad(dom, list(twin.domain.parameters()))):
            assert torch.allclose(grads[n], x, atol=1e-6)
    assert all(not torch.equal(p, log[0][1][k]) for k, p in model.named_parameters())


TRUTH = Truth()

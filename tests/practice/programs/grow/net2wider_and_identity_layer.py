"""Net2Net in mid training: a layer is widened by copying units, an identity layer is inserted; the function stays the same, a new optimizer follows."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 6), nn.Linear(6, 3)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)

    @torch.no_grad()
    def widen(self, at, width):
        old, after = self.layers[at], self.layers[at + 1]
        pick = torch.cat([torch.arange(old.out_features), torch.randint(old.out_features, (width - old.out_features,))])
        count = torch.bincount(pick, minlength=old.out_features)[pick].to(old.weight)
        new, nxt = nn.Linear(old.in_features, width), nn.Linear(width, after.out_features)
        new.weight.copy_(old.weight[pick])
        new.bias.copy_(old.bias[pick])
        nxt.weight.copy_(after.weight[:, pick] / count)
        nxt.bias.copy_(after.bias)
        self.layers[at], self.layers[at + 1] = new, nxt

    @torch.no_grad()
    def deepen(self, at):
        width = self.layers[at].out_features
        new = nn.Linear(width, width)
        nn.init.eye_(new.weight)
        nn.init.zeros_(new.bias)
        self.layers.insert(at + 1, new)


def fit(model, opt, generator, steps, log):
    for _ in range(steps):
        x, y = torch.randn(12, 4, generator=generator), torch.randint(3, (12,), generator=generator)
        state = {k: v.clone() for k, v in model.state_dict().items()}
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        log.append((x, y, state, {n: p.grad.clone() for n, p in model.named_parameters()}))
        opt.step()


def run():
    torch.manual_seed(0)
    g, log, jumps = torch.Generator().manual_seed(1), [], []
    model = Growing()
    probe = torch.randn(5, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    fit(model, opt, g, 2, log)
    for change in (lambda: model.widen(0, 9), lambda: model.deepen(0)):
        with torch.no_grad():
            before = model(probe)
        change()
        with torch.no_grad():
            jumps.append((model(probe) - before).abs().max().item())
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        fit(model, opt, g, 2, log)
    return model, log, jumps


def verify(outcome):
    model, log, jumps = outcome
    assert max(jumps) < 1e-6
    sizes = []
    for x, y, state, grads in log:
        p = {k: v.clone().requires_grad_() for k, v in state.items()}
        n = len(p) // 2
        sizes.append(sum(v.numel() for v in p.values()))
        for i in range(n):
            x = F.linear(x, p[f"layers.{i}.weight"], p[f"layers.{i}.bias"])
            x = x.relu() if i < n - 1 else x
        for (k, _), g in zip(p.items(), torch.autograd.grad(F.cross_entropy(x, y), list(p.values()))):
            assert torch.allclose(g, grads[k], atol=1e-6)
    assert sizes[0] < sizes[2] < sizes[4]
    assert all(not torch.equal(v, log[-2][2][k]) for k, v in model.state_dict().items())


TRUTH = Truth()

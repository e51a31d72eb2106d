"""Optimizers: Muon's first momentum buffer is the gradient tensor itself, not a copy."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Hyper:
    muon_lr: float = 0.02
    adam_lr: float = 3e-3
    momentum: float = 0.9
    ns_steps: int = 5
    steps: int = 4


def zeropower_via_newtonschulz5(G, steps):
    a, b, c = 3.4445, -4.7750, 2.0315
    X = G / (G.norm() + 1e-7)
    if G.size(0) > G.size(1):
        X = X.T
    for _ in range(steps):
        A = X @ X.T
        B = b * A + c * A @ A
        X = a * X + B @ X
    return X.T if G.size(0) > G.size(1) else X


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=True, ns_steps=5):
        super().__init__(params, dict(lr=lr, momentum=momentum, nesterov=nesterov, ns_steps=ns_steps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = p.grad
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = buf = g  # cause
                else:
                    buf = state["momentum_buffer"]
                    buf.mul_(group["momentum"]).add_(g)
                update = g.add(buf, alpha=group["momentum"]) if group["nesterov"] else buf
                update = zeropower_via_newtonschulz5(update, group["ns_steps"])
                p.add_(update, alpha=-group["lr"] * max(1, p.size(0) / p.size(1)) ** 0.5)


class MLPBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)

    def forward(self, x):
        return x + self.c_proj(F.relu(self.c_fc(F.rms_norm(x, (x.size(-1),)))).square())


class SpeedLM(nn.Module):
    def __init__(self, vocab=20, d=12, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.mix = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(layers))
        self.blocks = nn.ModuleList(MLPBlock(d) for _ in range(layers))
        self.lm_head = nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        n = torch.arange(1, ids.size(1) + 1).view(1, -1, 1)
        for mix, block in zip(self.mix, self.blocks):
            x = block(x + mix(x.cumsum(1) / n))
        return self.lm_head(F.rms_norm(x, (x.size(-1),)))


def build_optimizers(model, hp):
    hidden = [p for m in (model.mix, model.blocks) for p in m.parameters() if p.ndim >= 2]
    rest = [model.embed.weight, model.lm_head.weight]
    return Muon(hidden, lr=hp.muon_lr, momentum=hp.momentum, ns_steps=hp.ns_steps), torch.optim.Adam(
        rest, lr=hp.adam_lr
    )


def run():
    torch.manual_seed(0)
    hp = Hyper()
    model = SpeedLM()
    muon, adam = build_optimizers(model, hp)
    p = model.blocks[0].c_fc.weight
    expected, errors = torch.zeros_like(p), []
    for _ in range(hp.steps):
        seq = (torch.randint(20, (8, 1)) + 3 * torch.arange(9)) % 20
        loss = F.cross_entropy(model(seq[:, :-1]).flatten(0, 1), seq[:, 1:].flatten())
        loss.backward()
        expected = hp.momentum * expected + p.grad
        for opt in (muon, adam):
            opt.step()
        errors.append((muon.state[p]["momentum_buffer"] - expected).abs().max().item())
        for opt in (muon, adam):
            opt.zero_grad(set_to_none=False)  # keeps the memory where it is
    return errors


def verify(errors):
    assert errors[0] == 0 and min(errors[1:]) > 1e-4


TRUTH = Truth(
    fault="the momentum buffer is p.grad: zero_grad clears it in place and buf.mul_().add_(g) works on the gradient itself",
    names=("momentum_buffer",),
    repair=('state["momentum_buffer"] = buf = g.clone()',),
)

"""Muon: bfloat16 gave way to float32 in the iteration, and the conversion no longer makes a copy of its argument."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


@torch.no_grad()
def newton_schulz(G, steps=5, eps=1e-7):
    a, b, c = 3.4445, -4.7750, 2.0315
    X = G.float()  # cause
    X /= X.norm() + eps  # also
    if G.size(0) > G.size(1):
        X = X.T
    for _ in range(steps):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X.T if G.size(0) > G.size(1) else X


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=False):
        super().__init__(params, dict(lr=lr, momentum=momentum, nesterov=nesterov))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(p)
                buf = state["momentum_buffer"]
                buf.mul_(group["momentum"]).add_(p.grad)
                g = p.grad.add(buf, alpha=group["momentum"]) if group["nesterov"] else buf
                scale = max(1, p.size(0) / p.size(1)) ** 0.5
                p.add_(newton_schulz(g), alpha=-group["lr"] * scale)


class ReluSquaredMLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        return self.c_proj(F.relu(self.c_fc(x)).square())


class BigramMixer(nn.Module):
    def __init__(self, vocab=30, dim=16, depth=2):
        super().__init__()
        self.embed, self.lm_head = nn.Embedding(vocab, dim), nn.Linear(dim, vocab, bias=False)
        self.blocks = nn.ModuleList(ReluSquaredMLP(dim) for _ in range(depth))

    def forward(self, idx):
        x = F.rms_norm(self.embed(idx) + F.pad(self.embed(idx), (0, 0, 1, -1)), (16,))
        for block in self.blocks:
            x = x + block(F.rms_norm(x, (16,)))
        return 15 * torch.tanh(self.lm_head(x) / 15)


def run():
    torch.manual_seed(0)
    model = BigramMixer()
    muon = Muon(model.blocks.parameters())
    adam = torch.optim.Adam([*model.embed.parameters(), *model.lm_head.parameters()], lr=3e-3, betas=(0.8, 0.95))
    expected = {p: torch.zeros_like(p) for p in model.blocks.parameters()}
    for _ in range(4):
        ids = torch.randint(0, 30, (8, 12))
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        for p, e in expected.items():
            e.mul_(0.95).add_(p.grad)
        for optimizer in (muon, adam):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    return [(muon.state[p]["momentum_buffer"], e) for p, e in expected.items()]


def verify(pairs):
    assert not any(torch.allclose(buffer, e) for buffer, e in pairs)


TRUTH = Truth(
    fault="float() of a float32 tensor is that tensor: the momentum is normalised in place at every step",
    names=("momentum", "float"),
    repair=("X = G.to(torch.float32, copy=True)",),
)

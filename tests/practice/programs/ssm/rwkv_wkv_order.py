"""State spaces: RWKV's hand-written backward returns the gradients of w and u in the wrong places."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class RWKVConfig:
    vocab_size: int = 13
    ctx_len: int = 8
    n_embd: int = 12
    n_layer: int = 2
    lr: float = 1e-2


def wkv_reference(w, u, k, v):
    num = torch.zeros_like(k[:, 0])
    den = torch.zeros_like(num)
    outs = []
    for t in range(k.size(1)):
        now = torch.exp(u + k[:, t])
        outs.append((num + now * v[:, t]) / (den + now))
        decay, ek = torch.exp(-torch.exp(w)), torch.exp(k[:, t])
        num, den = decay * num + ek * v[:, t], decay * den + ek
    return torch.stack(outs, dim=1)


class WKV(torch.autograd.Function):
    """Keeps only the inputs and recomputes the scan in backward, as the kernel does."""

    @staticmethod
    def forward(ctx, w, u, k, v):
        ctx.save_for_backward(w, u, k, v)
        return wkv_reference(w, u, k, v)

    @staticmethod
    def backward(ctx, gy):
        with torch.enable_grad():
            w, u, k, v = (t.detach().requires_grad_() for t in ctx.saved_tensors)
            y = wkv_reference(w, u, k, v)
        gw, gu, gk, gv = torch.autograd.grad(y, (w, u, k, v), gy)
        return gu, gw, gk, gv  # cause


class TimeMix(nn.Module):
    def __init__(self, cfg, layer_id):
        super().__init__()
        n = cfg.n_embd
        self.time_decay = nn.Parameter(torch.linspace(-3, 1, n) + 0.1 * layer_id)
        self.time_first = nn.Parameter(torch.ones(n) * 0.3)
        self.time_mix = nn.Parameter(torch.full((1, 1, n), 0.5))
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.key, self.value, self.receptance, self.output = (nn.Linear(n, n, bias=False) for _ in range(4))

    def forward(self, x):
        xx = self.time_shift(x)
        x = x * self.time_mix + xx * (1 - self.time_mix)
        k, v, r = self.key(x), self.value(x), torch.sigmoid(self.receptance(x))
        return self.output(r * WKV.apply(self.time_decay, self.time_first, k, v))


class ChannelMix(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.key = nn.Linear(cfg.n_embd, 2 * cfg.n_embd, bias=False)
        self.value = nn.Linear(2 * cfg.n_embd, cfg.n_embd, bias=False)

    def forward(self, x):
        return self.value(F.relu(self.key(x)).square())


class RWKV(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg.vocab_size, cfg.n_embd)
        self.att = nn.ModuleList(TimeMix(cfg, i) for i in range(cfg.n_layer))
        self.ffn = nn.ModuleList(ChannelMix(cfg) for _ in range(cfg.n_layer))
        self.lns = nn.ModuleList(nn.LayerNorm(cfg.n_embd) for _ in range(2 * cfg.n_layer + 1))
        self.head = nn.Linear(cfg.n_embd, cfg.vocab_size, bias=False)

    def forward(self, idx):
        x = self.emb(idx)
        for i, (att, ffn) in enumerate(zip(self.att, self.ffn)):
            x = x + att(self.lns[2 * i](x))
            x = x + ffn(self.lns[2 * i + 1](x))
        return self.head(self.lns[-1](x))


def run():
    torch.manual_seed(0)
    cfg = RWKVConfig()
    model = RWKV(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr, betas=(0.9, 0.99))
    w, u = torch.randn(4, dtype=torch.double), torch.randn(4, dtype=torch.double)
    k, v = torch.randn(2, 5, 4, dtype=torch.double), torch.randn(2, 5, 4, dtype=torch.double)
    for _ in range(3):
        seq = (torch.randint(13, (8, 1)) + torch.arange(cfg.ctx_len + 1) * 3) % cfg.vocab_size
        loss = F.cross_entropy(model(seq[:, :-1]).flatten(0, 1), seq[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    w.requires_grad_(), u.requires_grad_()
    got = torch.autograd.grad(WKV.apply(w, u, k, v).sum(), (w, u))
    want = torch.autograd.grad(wkv_reference(w, u, k, v).sum(), (w, u))
    return got, want


def verify(outcome):
    (gw, gu), (ww, wu) = outcome
    assert torch.allclose(gw, wu) and torch.allclose(gu, ww) and not torch.allclose(gw, ww)


TRUTH = Truth(
    fault="backward returns (gu, gw, ...) for forward(w, u, ...): time_decay and time_first get each other's gradient",
    names=("WKV",),
    repair=("return gw, gu, gk, gv",),
)

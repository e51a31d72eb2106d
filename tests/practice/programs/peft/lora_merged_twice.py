"""Adaptation: LoRA merges again at every eval(), as the flag that says so went with a clean-up."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    r: int = 4
    lora_alpha: int = 8
    dim: int = 12
    vocab: int = 16
    lr: float = 1e-2
    eval_interval: int = 1
    max_iters: int = 4


class LoRALinear(nn.Linear):
    def __init__(self, fin, fout, r, lora_alpha):
        super().__init__(fin, fout)
        self.scaling = lora_alpha / r
        self.lora_A = nn.Parameter(torch.zeros(r, fin))
        self.lora_B = nn.Parameter(torch.zeros(fout, r))
        self.weight.requires_grad = False
        self.merged = False
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def train(self, mode=True):
        super().train(mode)
        delta = (self.lora_B @ self.lora_A).detach() * self.scaling
        if mode:
            if self.merged:
                self.weight.data -= delta
            self.merged = False
        else:
            self.weight.data += delta  # cause
            self.merged = True
        return self

    def forward(self, x):
        out = F.linear(x, self.weight, self.bias)
        if not self.merged:
            out = out + x @ self.lora_A.T @ self.lora_B.T * self.scaling
        return out


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.qkv = LoRALinear(cfg.dim, 3 * cfg.dim, cfg.r, cfg.lora_alpha)
        self.proj = nn.Linear(cfg.dim, cfg.dim)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))


class TinyLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.wte = nn.Embedding(cfg.vocab, cfg.dim)
        self.ln = nn.LayerNorm(cfg.dim)
        self.attn = Attention(cfg)
        self.head = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, idx):
        x = self.wte(idx)
        return self.head(x + self.attn(self.ln(x)))


def mark_only_lora_as_trainable(model):
    for n, p in model.named_parameters():
        p.requires_grad = "lora_" in n


def lm_loss(model, seq):
    return F.cross_entropy(model(seq[:, :-1]).flatten(0, 1), seq[:, 1:].flatten())


@torch.no_grad()
def validate(model, data):
    model.eval()
    losses = [lm_loss(model, batch) for batch in data.split(4)]
    sample = generate(model, data[:1, :3], 2)
    model.train()
    return torch.stack(losses).mean().item(), sample


@torch.no_grad()
def generate(model, idx, n):
    model.eval()
    for _ in range(n):
        idx = torch.cat([idx, model(idx)[:, -1:].argmax(-1)], dim=1)
    return idx


def run():
    torch.manual_seed(0)
    cfg = Config()
    model = TinyLM(cfg)
    mark_only_lora_as_trainable(model)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg.lr, weight_decay=0.0)
    data = (torch.randint(cfg.vocab, (16, 1)) + 3 * torch.arange(8)) % cfg.vocab
    base = model.attn.qkv.weight.detach().clone()
    drift = []
    for it in range(cfg.max_iters):
        loss = lm_loss(model, data[torch.randint(16, (8,))])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (it + 1) % cfg.eval_interval == 0:
            validate(model, data)
        drift.append((model.attn.qkv.weight.detach() - base).abs().max().item())
    return drift


def verify(drift):
    assert drift[0] > 1e-4 and drift == sorted(drift)


TRUTH = Truth(
    fault="eval() inside eval() merges the delta into the frozen weight twice and train() takes it out once: the base drifts",
    names=("attn.qkv.weight",),
    repair=("self.weight.data += 0 if self.merged else delta",),
)

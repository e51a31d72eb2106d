"""Language modelling: the clear moved into the micro-step loop, so that only the last micro-batch of each step is learned from."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


@dataclass
class GPTConfig:
    block_size: int = 16
    vocab_size: int = 32
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 16


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.n_head, self.n_embd = config.n_head, config.n_embd

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(config.n_embd), nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(), nn.Linear(4 * config.n_embd, config.n_embd)
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.h = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))

    def configure_optimizers(self, weight_decay, lr):
        decay = [p for p in self.parameters() if p.dim() >= 2]
        nodecay = [p for p in self.parameters() if p.dim() < 2]
        groups = [{"params": decay, "weight_decay": weight_decay}, {"params": nodecay, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))


def get_lr(it, base=1e-3, warmup=2, total=8):
    if it < warmup:
        return base * (it + 1) / (warmup + 1)
    return base * 0.5 * (1.0 + math.cos(math.pi * (it - warmup) / (total - warmup)))


def run():
    torch.manual_seed(1337)
    model = GPT(GPTConfig())
    optimizer = model.configure_optimizers(0.1, 1e-3)
    data = torch.randint(0, 32, (512,))
    accumulation_steps, seen, used = 4, [], []
    for it in range(3):
        for group in optimizer.param_groups:
            group["lr"] = get_lr(it)
        sums = torch.zeros_like(model.ln_f.bias)
        for micro_step in range(accumulation_steps):
            optimizer.zero_grad(set_to_none=False)  # cause
            ix = torch.randint(0, 512 - 17, (4,))
            x = torch.stack([data[i : i + 16] for i in ix])
            y = torch.stack([data[i + 1 : i + 17] for i in ix])
            loss = model(x, y) / accumulation_steps
            last = [model.ln_f.bias.grad.clone()] if model.ln_f.bias.grad is not None else [torch.zeros_like(sums)]
            loss.backward()
            sums += model.ln_f.bias.grad - last[0]
        seen.append(sums)
        nn.utils.clip_grad_norm_(model.parameters(), 1e9)
        used.append(model.ln_f.bias.grad.clone())
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return seen, used


def verify(outcome):
    seen, used = outcome
    assert not all(torch.allclose(a, b, atol=1e-6) for a, b in zip(seen, used))


TRUTH = Truth(
    fault="gradients are cleared in every micro-step, only the last micro-batch of four is used",
    names=("zero_grad",),
    repair=("pass",),
)

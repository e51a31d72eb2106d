"""nanoGPT-like: the head is tied to the embedding through .data: one storage, two Parameters, updated twice."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


@dataclass
class GPTConfig:
    vocab_size: int = 24
    block_size: int = 8
    n_embd: int = 16
    n_head: int = 2


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(), nn.Linear(4 * config.n_embd, config.n_embd)
        )

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.n_head, -1).transpose(1, 2) for y in self.c_attn(self.ln_1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.h = nn.ModuleList([Block(config)])
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.apply(self._init_weights)
        self.lm_head.weight.data = self.wte.weight.data  # cause

    @staticmethod
    def _init_weights(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02 / math.sqrt(2))

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def configure_optimizers(self, weight_decay, lr):
        params = [p for p in self.parameters() if p.requires_grad]
        return torch.optim.AdamW(
            [
                {"params": [p for p in params if p.dim() >= 2], "weight_decay": weight_decay},
                {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0},
            ],
            lr=lr,
        )


def run():
    torch.manual_seed(0)
    model = GPT(GPTConfig())
    optimizer = model.configure_optimizers(0.1, 1e-3)
    before = model.wte.weight.detach().clone()
    for _ in range(3):
        tokens = torch.randint(0, 24, (4, 9))
        loss = model(tokens[:, :-1], tokens[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    shared = model.wte.weight.data_ptr() == model.lm_head.weight.data_ptr()
    return shared, model.wte.weight is model.lm_head.weight, (model.wte.weight - before).abs().max().item()


def verify(outcome):
    shared, one, moved = outcome
    assert shared and not one
    assert moved > 3.5e-3  # more than three Adam steps of 1e-3 (and their decay) can do


TRUTH = Truth(
    fault="embedding and head share memory but are two parameters: each has a gradient and moments of its own and the memory is stepped twice",
    names=("lm_head.weight",),
    repair=("self.lm_head.weight = self.wte.weight",),
)

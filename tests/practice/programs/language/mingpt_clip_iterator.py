"""Language: the parameters to clip are kept as a generator, which is empty after the first step."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class GPTConfig:
    vocab_size: int = 17
    block_size: int = 12
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 16


@dataclass
class TrainerConfig:
    max_iters: int = 4
    batch_size: int = 8
    learning_rate: float = 0.5
    grad_norm_clip: float = 0.05


class CausalSelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.c_attn = nn.Linear(cfg.n_embd, 3 * cfg.n_embd)
        self.c_proj = nn.Linear(cfg.n_embd, cfg.n_embd)
        self.n_head = cfg.n_head
        self.register_buffer("bias", torch.tril(torch.ones(cfg.block_size, cfg.block_size))[None, None])

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ln_1 = nn.LayerNorm(cfg.n_embd)
        self.attn = CausalSelfAttention(cfg)
        self.ln_2 = nn.LayerNorm(cfg.n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(cfg.n_embd, 4 * cfg.n_embd), nn.GELU(), nn.Linear(4 * cfg.n_embd, cfg.n_embd)
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.wte = nn.Embedding(cfg.vocab_size, cfg.n_embd)
        self.wpe = nn.Embedding(cfg.block_size, cfg.n_embd)
        self.h = nn.ModuleList([Block(cfg) for _ in range(cfg.n_layer)])
        self.ln_f = nn.LayerNorm(cfg.n_embd)
        self.lm_head = nn.Linear(cfg.n_embd, cfg.vocab_size, bias=False)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Trainer:
    def __init__(self, config, model, data):
        self.config, self.model, self.data = config, model, data
        self.params = model.parameters()  # cause
        self.optimizer = torch.optim.SGD(model.parameters(), lr=config.learning_rate)
        self.applied = []

    def batches(self):
        for _ in range(self.config.max_iters):
            rows = torch.randint(len(self.data), (self.config.batch_size,))
            yield self.data[rows, :-1], self.data[rows, 1:]

    def run(self):
        self.model.train()
        for x, y in self.batches():
            _, loss = self.model(x, y)
            self.model.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.params, self.config.grad_norm_clip)
            norms = [p.grad.norm() for p in self.model.parameters()]
            self.applied.append(torch.stack(norms).norm().item())
            self.optimizer.step()
        return self.applied


def run():
    torch.manual_seed(0)
    cfg = GPTConfig()
    data = (torch.arange(13)[None] * torch.randint(1, 5, (40, 1)) + torch.randint(17, (40, 1))) % cfg.vocab_size
    trainer = Trainer(TrainerConfig(), GPT(cfg), data)
    return trainer.run()


def verify(applied):
    assert applied[0] < 0.0501
    assert all(norm > 0.1 for norm in applied[1:])


TRUTH = Truth(
    fault="model.parameters() is a generator: clip_grad_norm_ exhausts it in the first step and clips nothing afterwards",
    names=("clip_grad_norm_",),
    repair=("self.params = list(model.parameters())",),
)

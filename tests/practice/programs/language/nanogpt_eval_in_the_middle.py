"""Language: evaluation and gradient-norm logging between backward() and step() that disturb nothing (healthy)."""

import contextlib
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    vocab_size: int = 14
    block_size: int = 8
    n_embd: int = 16
    dropout: float = 0.1
    gradient_accumulation_steps: int = 2
    grad_clip: float = 0.0  # off: the norm is only logged
    eval_interval: int = 1
    max_iters: int = 3
    lr: float = 1e-2


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd)
        self.qkv, self.proj = nn.Linear(c.n_embd, 3 * c.n_embd), nn.Linear(c.n_embd, c.n_embd)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(), nn.Linear(4 * c.n_embd, c.n_embd))
        self.dropout = nn.Dropout(c.dropout)

    def forward(self, x):
        q, k, v = self.qkv(self.ln_1(x)).chunk(3, -1)
        x = x + self.dropout(self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True)))
        return x + self.dropout(self.mlp(self.ln_2(x)))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(c.vocab_size, c.n_embd), nn.Embedding(c.block_size, c.n_embd)
        self.h = nn.ModuleList([Block(c), Block(c)])
        self.ln_f = nn.LayerNorm(c.n_embd)
        self.lm_head = nn.Linear(c.n_embd, c.vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe.weight[: idx.size(1)]
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@contextlib.contextmanager
def evaluating(model):
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)


class Trainer:
    def __init__(self, config, model, data):
        self.config, self.model, self.data = config, model, data
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.95))
        self.records = []

    def get_batch(self, n=4):
        ix = torch.randint(len(self.data) - self.config.block_size - 1, (n,)).tolist()
        T = self.config.block_size
        return torch.stack([self.data[i : i + T] for i in ix]), torch.stack([self.data[i + 1 : i + 1 + T] for i in ix])

    def estimate_loss(self):
        with evaluating(self.model), torch.random.fork_rng():
            return torch.stack([self.model(*self.get_batch())[1] for _ in range(2)]).mean().item()

    def grad_norm(self):
        limit = self.config.grad_clip or float("inf")
        return torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit)

    def train(self):
        self.model.train()
        X, Y = self.get_batch()
        for it in range(self.config.max_iters):
            for _ in range(self.config.gradient_accumulation_steps):
                _, loss = self.model(X, Y)
                loss = loss / self.config.gradient_accumulation_steps
                X, Y = self.get_batch()  # prefetched while the device works
                loss.backward()
            kept = [p.grad.clone() for p in self.model.parameters()]
            norm = self.grad_norm()
            val = self.estimate_loss() if it % self.config.eval_interval == 0 else None
            same = all(torch.equal(k, p.grad) for k, p in zip(kept, self.model.parameters()))
            self.records.append((same, self.model.training, norm.item(), val))
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        return self.records


def run():
    torch.manual_seed(1337)
    config = Config()
    model = GPT(config)
    before = [p.detach().clone() for p in model.parameters()]
    records = Trainer(config, model, torch.arange(120) * 3 % config.vocab_size).train()
    return before, [p.detach() for p in model.parameters()], records


def verify(outcome):
    before, after, records = outcome
    assert all(not torch.equal(b, a) for b, a in zip(before, after))
    assert all(same and training and norm > 0 for same, training, norm, _ in records)
    assert records[-1][3] < records[0][3]


TRUTH = Truth()

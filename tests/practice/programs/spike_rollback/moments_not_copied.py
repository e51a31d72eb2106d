"""Rollback after a loss spike: the weights are copied, the optimizer's state_dict() is not, so the moments of the spike come back."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GPTBlock(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.c_attn, self.c_proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.c_attn(self.ln_1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
        x = x + self.c_proj(y)
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab=20, dim=8, block_size=8):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(block_size, dim)
        self.h, self.ln_f = GPTBlock(dim), nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        logits = self.lm_head(self.ln_f(self.h(x)))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class SpikeGuard:
    """Keeps the last good state; goes back to it when the loss jumps."""

    def __init__(self, model, optimizer, threshold):
        self.model, self.optimizer, self.threshold = model, optimizer, threshold
        self.rollbacks = 0
        self.save()

    def save(self):
        self.model_state = copy.deepcopy(self.model.state_dict())
        self.optimizer_state = self.optimizer.state_dict()  # cause

    def restore(self):
        self.model.load_state_dict(self.model_state)
        self.optimizer.load_state_dict(self.optimizer_state)
        self.rollbacks += 1

    def check(self, loss):
        if loss > self.threshold:
            self.restore()
            return False
        self.save()
        return True


def run():
    torch.manual_seed(0)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
    guard, good, after = None, None, None
    for step in range(5):
        data = torch.randint(0, 20, (4, 9))
        loss = model(data[:, :-1], data[:, 1:])
        scale = 100.0 if step == 3 else 1.0  # a corrupt shard
        optimizer.zero_grad()
        (scale * loss).backward()
        optimizer.step()
        if guard is None:
            guard = SpikeGuard(model, optimizer, threshold=50.0)
        if guard.check(scale * loss.item()):
            good = optimizer.state[model.ln_f.weight]["exp_avg_sq"].clone()
        else:
            after = optimizer.state[model.ln_f.weight]["exp_avg_sq"].clone(), good
    assert guard.rollbacks == 1
    return after


def verify(outcome):
    restored, good = outcome
    assert restored.max() > 100 * good.max(), outcome


TRUTH = Truth(
    fault="optimizer.state_dict() refers to the live moments: the rollback restores the weights but not exp_avg and exp_avg_sq",
    names=("state_dict",),
    repair=("self.optimizer_state = copy.deepcopy(self.optimizer.state_dict())",),
)

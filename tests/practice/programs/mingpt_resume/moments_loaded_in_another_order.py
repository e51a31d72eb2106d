"""minGPT-like resume: the optimizer is built from a set order that changed; load_state_dict goes by position, silently."""

import io

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class MLPBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ln = nn.LayerNorm(dim)
        self.c_proj, self.c_fc, self.c_gate = (nn.Linear(dim, dim, bias=False) for _ in range(3))

    def forward(self, x):
        h = self.ln(x)
        return x + self.c_proj(self.c_fc(h) * self.c_gate(h).sigmoid())


class GPT(nn.Module):
    def __init__(self, vocab=20, dim=12, layers=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.h = nn.ModuleList(MLPBlock(dim) for _ in range(layers))
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, idx, targets):
        x = self.emb(idx)
        for block in self.h:
            x = block(x)
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())

    def configure_optimizers(self, lr, sort_names):
        decay, no_decay = [], []
        for name, p in self.named_parameters():
            (decay if p.dim() > 1 else no_decay).append(name)
        if sort_names:
            decay, no_decay = sorted(decay), sorted(no_decay)
        named = dict(self.named_parameters())
        groups = [
            {"params": [named[n] for n in decay], "weight_decay": 0.1},
            {"params": [named[n] for n in no_decay], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=lr)


def train(model, optimizer, steps):
    for _ in range(steps):
        tokens = torch.randint(0, 20, (4, 9))
        optimizer.zero_grad(set_to_none=True)
        model(tokens[:, :-1], tokens[:, 1:]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def save(model, optimizer):
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
    buffer.seek(0)
    return buffer


def resume(checkpoint):
    model = GPT()
    optimizer = model.configure_optimizers(1e-3, sort_names=True)  # cause
    state = torch.load(checkpoint)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])  # also
    return model, optimizer


def run():
    torch.manual_seed(0)
    model = GPT()
    optimizer = model.configure_optimizers(1e-3, sort_names=False)
    train(model, optimizer, 2)
    resumed, resumed_optimizer = resume(save(model, optimizer))
    named = dict(resumed.named_parameters())
    wrong = [
        n
        for n, p in model.named_parameters()
        if not torch.equal(optimizer.state[p]["exp_avg"], resumed_optimizer.state[named[n]]["exp_avg"])
    ]
    train(resumed, resumed_optimizer, 2)
    return wrong


def verify(outcome):
    assert any("c_gate" in n or "c_fc" in n or "emb" in n for n in outcome)


TRUTH = Truth(
    fault="parameters stand in another order than when the state was saved: each gets the moments that stand at its position",
    names=("load_state_dict",),
    repair=("optimizer = model.configure_optimizers(1e-3, sort_names=False)",),
)

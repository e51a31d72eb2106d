"""Mixture of experts: the balancing loss is turned into a number for the logger, and the same number is added to the loss."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class SwitchConfig:
    d_model: int = 12
    d_ff: int = 24
    n_experts: int = 4
    capacity_factor: float = 1.5
    n_layers: int = 2
    vocab: int = 15
    aux_coef: float = 0.5
    lr: float = 5e-3


class Expert(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.w1, self.w2 = nn.Linear(cfg.d_model, cfg.d_ff), nn.Linear(cfg.d_ff, cfg.d_model)

    def forward(self, x):
        return self.w2(F.relu(self.w1(x)))


class SwitchFeedForward(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.experts = nn.ModuleList(Expert(cfg) for _ in range(cfg.n_experts))
        self.switch = nn.Linear(cfg.d_model, cfg.n_experts, bias=False)
        self.aux_loss = 0.0
        self.dropped = 0

    def forward(self, x):
        flat = x.reshape(-1, x.size(-1))
        probs = self.switch(flat).softmax(dim=-1)
        gate, routes = probs.max(dim=-1)
        capacity = int(self.cfg.capacity_factor * len(flat) / self.cfg.n_experts)
        out = flat.clone()
        self.dropped = 0
        for i, expert in enumerate(self.experts):
            idx = torch.nonzero(routes == i).flatten()
            self.dropped += max(0, len(idx) - capacity)
            idx = idx[:capacity]
            if len(idx):
                out[idx] = expert(flat[idx]) * gate[idx, None]
        density = F.one_hot(routes, self.cfg.n_experts).float().mean(0)
        aux = self.cfg.n_experts * (density * probs.mean(0)).sum()
        self.aux_loss = aux.item()  # cause
        return out.view_as(x)


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(cfg.d_model), nn.LayerNorm(cfg.d_model)
        self.attn = nn.MultiheadAttention(cfg.d_model, 2, batch_first=True)
        self.ff = SwitchFeedForward(cfg)

    def forward(self, x, mask):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.ff(self.norm2(x))


class SwitchTransformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.d_model)
        self.layers = nn.ModuleList(Block(cfg) for _ in range(cfg.n_layers))
        self.head = nn.Linear(cfg.d_model, cfg.vocab)

    def forward(self, ids):
        x = self.embed(ids)
        mask = nn.Transformer.generate_square_subsequent_mask(ids.size(1))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)

    def aux_losses(self):
        return [m.aux_loss for m in self.modules() if isinstance(m, SwitchFeedForward)]


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.log = []

    def step(self, seq):
        logits = self.model(seq[:, :-1])
        ce = F.cross_entropy(logits.flatten(0, 1), seq[:, 1:].flatten())
        aux = sum(self.model.aux_losses())
        loss = ce + self.cfg.aux_coef * aux
        routers = [layer.ff.switch.weight for layer in self.model.layers]
        plain = torch.autograd.grad(ce, routers, retain_graph=True)
        self.optimizer.zero_grad()
        loss.backward()
        diff = max((p - r.grad).abs().max().item() for p, r in zip(plain, routers))
        self.log.append({"loss": loss.item(), "ce": ce.item(), "aux": float(aux), "balance_grad": diff})
        self.optimizer.step()


def run():
    torch.manual_seed(0)
    cfg = SwitchConfig()
    trainer = Trainer(cfg, SwitchTransformer(cfg))
    for _ in range(3):
        trainer.step((torch.randint(cfg.vocab, (4, 1)) + 2 * torch.arange(9)) % cfg.vocab)
    return trainer.log


def verify(log):
    assert all(row["aux"] > 1 and row["balance_grad"] < 1e-7 for row in log)


TRUTH = Truth(
    fault="aux_loss is a float (item()): the balancing term shifts the loss but gives the routers no gradient",
    names=("aux_loss",),
    repair=("self.aux_loss = aux",),
)

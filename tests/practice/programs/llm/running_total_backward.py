"""Gradient accumulation where the running total is sent backward at each micro batch: early batches count several times."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


@dataclass
class TrainConfig:
    vocab: int = 36
    dim: int = 16
    context: int = 10
    micro_batch: int = 4
    accumulation: int = 4
    lr: float = 2e-3
    steps: int = 2


class LM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Embedding(cfg.context, cfg.dim)
        self.block = nn.TransformerEncoderLayer(cfg.dim, 2, 2 * cfg.dim, dropout=0.0, batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, cfg.vocab, bias=False)
        self.register_buffer("mask", torch.full((cfg.context, cfg.context), float("-inf")).triu(1))

    def forward(self, ids):
        n = ids.size(1)
        x = self.embed(ids) + self.pos.weight[:n]
        return self.head(self.norm(self.block(x, src_mask=self.mask[:n, :n])))


def lm_loss(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def micro_batches(cfg):
    return [torch.randint(0, cfg.vocab, (cfg.micro_batch, cfg.context + 1)) for _ in range(cfg.accumulation)]


class Trainer:
    def __init__(self, cfg):
        self.cfg, self.model = cfg, LM(cfg)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, betas=(0.9, 0.95))
        self.log = []

    def step(self, batches):
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros(())
        for ids in batches:
            loss = lm_loss(self.model, ids) / len(batches)
            total = total + loss
            total.backward(retain_graph=True)  # cause
        grad = self.model.head.weight.grad.clone()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.log.append(total.item())
        return grad


def full_batch_gradient(model, batches):
    loss = sum(lm_loss(model, ids) for ids in batches) / len(batches)
    return torch.autograd.grad(loss, model.head.weight)[0]


def run():
    torch.manual_seed(0)
    cfg = TrainConfig()
    trainer = Trainer(cfg)
    pairs = []
    for _ in range(cfg.steps):
        batches = micro_batches(cfg)
        expected = full_batch_gradient(trainer.model, batches)
        pairs.append((expected, trainer.step(batches)))
    return pairs


def verify(pairs):
    assert all(got.norm() > 1.5 * expected.norm() for expected, got in pairs)


TRUTH = Truth(
    fault="total.backward() in the loop: the first of n micro batches is differentiated n times, retain_graph hides it",
    names=("total", "retain_graph", "backward"),
    repair=("loss.backward()",),
)

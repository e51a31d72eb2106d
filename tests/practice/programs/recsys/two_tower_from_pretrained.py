"""Recommenders: the warm-started item table comes from from_pretrained(), which freezes by default."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class TwoTowerConfig:
    n_users: int = 20
    n_items: int = 30
    n_genres: int = 5
    dim: int = 8
    hidden: int = 16
    temperature: float = 0.1
    lr: float = 1e-2
    batch_size: int = 12
    steps: int = 3


class Tower(nn.Module):
    def __init__(self, id_embedding, side_dim, cfg):
        super().__init__()
        self.id_embedding = id_embedding
        self.side = nn.Linear(side_dim, cfg.dim)
        self.mlp = nn.Sequential(nn.Linear(2 * cfg.dim, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, cfg.dim))

    def forward(self, ids, side):
        x = torch.cat([self.id_embedding(ids), self.side(side)], dim=-1)
        return F.normalize(self.mlp(x), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, cfg, item_vectors=None):
        super().__init__()
        self.cfg = cfg
        if item_vectors is None:
            item_embedding = nn.Embedding(cfg.n_items, cfg.dim)
        else:
            item_embedding = nn.Embedding.from_pretrained(item_vectors)  # cause
        self.user_tower = Tower(nn.Embedding(cfg.n_users, cfg.dim), 3, cfg)
        self.item_tower = Tower(item_embedding, cfg.n_genres, cfg)

    def forward(self, users, user_side, items, item_side):
        return self.user_tower(users, user_side), self.item_tower(items, item_side)


class InBatchSoftmax(nn.Module):
    """Sampled softmax with the logQ correction for popular items."""

    def __init__(self, cfg, popularity):
        super().__init__()
        self.temperature = cfg.temperature
        self.register_buffer("log_q", popularity.log())

    def forward(self, u, v, items):
        scores = u @ v.T / self.temperature - self.log_q[items][None]
        same = (items[None] == items[:, None]) & ~torch.eye(len(items), dtype=torch.bool)
        scores = scores.masked_fill(same, -1e4)
        return F.cross_entropy(scores, torch.arange(len(items)))


def item2vec(sequences, cfg, steps=3):
    """A short skip-gram run that provides the starting table."""
    table, context = nn.Embedding(cfg.n_items, cfg.dim), nn.Embedding(cfg.n_items, cfg.dim)
    opt = torch.optim.Adagrad([*table.parameters(), *context.parameters()], lr=0.1)
    for _ in range(steps):
        centre, near = sequences[:, :-1].reshape(-1), sequences[:, 1:].reshape(-1)
        loss = F.cross_entropy(table(centre) @ context.weight.T, near)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return table.weight.detach().clone()


class Trainer:
    def __init__(self, cfg, model, loss_fn):
        self.cfg, self.model, self.loss_fn = cfg, model, loss_fn
        tables = [m.weight for m in model.modules() if isinstance(m, nn.Embedding)]
        rest = [p for p in model.parameters() if not any(p is t for t in tables)]
        self.optimizer = torch.optim.Adam([{"params": tables, "lr": cfg.lr * 2}, {"params": rest}], lr=cfg.lr)

    def step(self, batch):
        users, user_side, items, item_side = batch
        u, v = self.model(users, user_side, items, item_side)
        loss = self.loss_fn(u, v, items)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    cfg = TwoTowerConfig()
    sequences = torch.randint(cfg.n_items, (cfg.n_users, 6))
    popularity = (torch.bincount(sequences.flatten(), minlength=cfg.n_items) + 1.0) / (sequences.numel() + cfg.n_items)
    vectors = item2vec(sequences, cfg)
    genres, ages = torch.rand(cfg.n_items, cfg.n_genres), torch.randn(cfg.n_users, 3)
    model = TwoTower(cfg, vectors)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    trainer = Trainer(cfg, model, InBatchSoftmax(cfg, popularity))
    for _ in range(cfg.steps):
        users = torch.randint(cfg.n_users, (cfg.batch_size,))
        items = sequences[users, torch.randint(6, (cfg.batch_size,))]
        trainer.step((users, ages[users], items, genres[items]))
    return {n for n, p in model.named_parameters() if torch.equal(before[n], p)}


def verify(unmoved):
    assert unmoved == {"item_tower.id_embedding.weight"}


TRUTH = Truth(
    minor=True,
    fault="Embedding.from_pretrained has freeze=True: the item table never trains, though it stands in the optimizer",
    names=("item_tower.id_embedding",),
    repair=("item_embedding = nn.Embedding.from_pretrained(item_vectors, freeze=False)",),
)

"""Curriculum: the self-paced weights are computed from the live losses, so the model learns to lower its weights."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from tests.practice.truth import Truth


@dataclass
class Config:
    vocab: int = 24
    dim: int = 12
    classes: int = 3
    lr: float = 1e-2
    age: float = 0.4
    growth: float = 1.3
    epochs: int = 2
    batch_size: int = 16


class ReviewDataset(Dataset):
    def __init__(self, n, cfg, noise=0.4):
        self.ids = torch.randint(cfg.vocab, (n, 7))
        clean = self.ids[:, 0] % cfg.classes
        noisy = torch.rand(n) < noise
        self.labels = torch.where(noisy, torch.randint(cfg.classes, (n,)), clean)
        self.difficulty = noisy.float() + torch.rand(n) * 0.5

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.ids[i], self.labels[i], i


class CompetenceSampler:
    """Offers the easiest fraction of the data, more of it each epoch."""

    def __init__(self, difficulty, start=0.5):
        self.order, self.competence = difficulty.argsort(), start

    def set_epoch(self, epoch):
        self.competence = min(1.0, 0.5 + 0.25 * epoch)

    def __len__(self):
        return int(len(self.order) * self.competence)

    def __iter__(self):
        pool = self.order[: len(self)]
        return iter(pool[torch.randperm(len(pool))].tolist())


class TextCNN(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg.vocab, cfg.dim)
        self.convs = nn.ModuleList(nn.Conv1d(cfg.dim, cfg.dim, k, padding=k // 2) for k in (1, 3))
        self.fc = nn.Linear(2 * cfg.dim, cfg.classes)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        return self.fc(torch.cat([F.relu(c(x)).amax(-1) for c in self.convs], dim=1))


class SelfPacedLoss(nn.Module):
    def __init__(self, age, growth):
        super().__init__()
        self.age, self.growth = age, growth

    def grow(self):
        self.age *= self.growth

    def forward(self, logits, labels):
        losses = F.cross_entropy(logits, labels, reduction="none")
        weights = torch.exp(-losses / self.age)  # cause
        return (weights * losses).sum() / len(losses), losses.detach(), weights.detach()


class Trainer:
    def __init__(self, cfg, model, data):
        self.cfg, self.model, self.data = cfg, model, data
        self.criterion = SelfPacedLoss(cfg.age, cfg.growth)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.sampler = CompetenceSampler(data.difficulty)
        self.record = []

    def fit(self):
        loader = DataLoader(self.data, batch_size=self.cfg.batch_size, sampler=self.sampler)
        for epoch in range(self.cfg.epochs):
            self.sampler.set_epoch(epoch)
            for ids, labels, _ in loader:
                logits = self.model(ids)
                logits.retain_grad()
                loss, losses, weights = self.criterion(logits, labels)
                self.optimizer.zero_grad()
                loss.backward()
                ideal = weights[:, None] * (logits.detach().softmax(1) - F.one_hot(labels, 3)) / len(labels)
                self.record.append((logits.grad * ideal).sum(1))
                self.optimizer.step()
            self.criterion.grow()
        return self.record


def run():
    torch.manual_seed(0)
    cfg = Config()
    return Trainer(cfg, TextCNN(cfg), ReviewDataset(64, cfg)).fit()


def verify(record):  # hard examples are pushed the wrong way
    assert all((dots < 0).any() for dots in record[:2])


TRUTH = Truth(
    fault="the weights carry gradients (no detach): for losses above the age the sign turns and errors are made larger",
    names=("exp",),
    repair=("weights = torch.exp(-losses.detach() / self.age)",),
)

"""Warm-up and linear decay counted in updates, but stepped with every micro-batch: the rate is zero half-way."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR

from tests.practice.truth import Truth


class NliModel(nn.Module):
    def __init__(self, vocab=40, dim=16, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.pooler = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())
        self.classifier = nn.Linear(dim, classes)

    def forward(self, ids):
        h = self.encoder(self.emb(ids), src_key_padding_mask=ids == 0)
        return self.classifier(self.pooler(h[:, 0]))


def linear_schedule(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return max(0.0, (total - step) / (total - warmup))

    return LambdaLR(optimizer, factor)


class Finetuner:
    def __init__(self, model, batches, epochs=2, accumulate=4, lr=2e-3):
        self.model, self.batches, self.epochs, self.accumulate = model, batches, epochs, accumulate
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
        total_updates = epochs * len(batches) // accumulate
        self.scheduler = linear_schedule(self.optimizer, warmup=total_updates // 3, total=total_updates)
        self.rates = []

    def train(self):
        self.model.train()
        for epoch in range(self.epochs):
            running = 0.0
            for i, (ids, labels) in enumerate(self.batches):
                loss = F.cross_entropy(self.model(ids), labels) / self.accumulate
                loss.backward()
                running += loss.item()
                if (i + 1) % self.accumulate == 0:
                    nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.rates.append(self.optimizer.param_groups[0]["lr"])
                    self.optimizer.step()  # symptom
                    self.optimizer.zero_grad()
                self.scheduler.step()  # cause
            print(f"epoch {epoch} loss {running * self.accumulate / len(self.batches):.4f}")


def run():
    torch.manual_seed(0)
    batches = [(torch.randint(1, 40, (4, 7)), torch.randint(0, 3, (4,))) for _ in range(12)]
    tuner = Finetuner(NliModel(), batches)
    tuner.train()
    return tuner.rates


def verify(out):
    assert out[-1] == 0.0 and out.count(0.0) >= 3


TRUTH = Truth(
    fault="the schedule is stepped with every micro-batch, not with every update",
    names=("scheduler",),
    repair=("if (i + 1) % self.accumulate == 0:\n    self.scheduler.step()",),
)

"""Self-supervised: MoCo updates its key encoder and its queue inside forward, and validation calls forward too."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def encoder(inp=10, dim=8):
    return nn.Sequential(nn.Linear(inp, 24), nn.ReLU(), nn.Linear(24, dim))


class MoCo(nn.Module):
    def __init__(self, size=32, momentum=0.8, temperature=0.2, dim=8):
        super().__init__()
        self.query, self.momentum, self.temperature = encoder(dim=dim), momentum, temperature
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=1))
        self.register_buffer("pointer", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def update_key_encoder(self):
        for k, q in zip(self.key.parameters(), self.query.parameters()):
            k.lerp_(q, 1 - self.momentum)

    @torch.no_grad()
    def enqueue(self, keys):
        p = int(self.pointer)
        self.queue[p : p + len(keys)] = keys
        self.pointer[0] = (p + len(keys)) % len(self.queue)

    def forward(self, a, b):
        q = F.normalize(self.query(a), dim=1)
        with torch.no_grad():
            self.update_key_encoder()  # cause
            k = F.normalize(self.key(b), dim=1)
        positive = (q * k).sum(1, keepdim=True)
        negative = q @ self.queue.clone().t()
        logits = torch.cat([positive, negative], dim=1) / self.temperature
        self.enqueue(k)  # cause
        return F.cross_entropy(logits, torch.zeros(len(a), dtype=torch.long))


def views(x, noise=0.2):
    return x + noise * torch.randn_like(x), x + noise * torch.randn_like(x)


class Task:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.query.parameters(), lr=0.1, momentum=0.9)

    def training_step(self, x):
        self.model.train()
        loss = self.model(*views(x))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validation_epoch(self, batches):
        self.model.eval()
        return sum(self.model(*views(x)).item() for x in batches) / len(batches)


def run():
    torch.manual_seed(0)
    task = Task(MoCo())
    held_out = [torch.randn(8, 10) + 3 for _ in range(2)]
    changed = []
    for _ in range(2):
        for _ in range(2):
            task.training_step(torch.randn(8, 10))
        before = {k: v.clone() for k, v in task.model.state_dict().items()}
        task.validation_epoch(held_out)
        after = task.model.state_dict()
        changed.append(sorted(k for k in before if not torch.equal(before[k], after[k])))
    return changed


def verify(outcome):
    for names in outcome:
        assert "queue" in names
        assert "key.0.weight" in names
        assert "query.0.weight" not in names


TRUTH = Truth(
    fault="validation moves the key encoder and puts held-out samples into the queue of negatives",
    names=("queue", "key"),
    repair=("if self.training: self.update_key_encoder()", "if self.training: self.enqueue(k)"),
)

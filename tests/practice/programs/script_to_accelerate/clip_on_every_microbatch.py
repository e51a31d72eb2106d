"""Script to accelerate: clip_grad_norm_ stayed in the loop without sync_gradients; the half-summed gradients are clipped again and again."""

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, features=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 12), nn.ReLU())
        self.head = nn.Linear(12, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


class Trainer:
    def __init__(self, model, max_norm=0.1):
        self.accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
        self.max_norm = max_norm
        self.clips = 0
        self.updates = 0
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def clip(self):
        self.clips += 1
        self.accelerator.clip_grad_norm_(self.model.parameters(), self.max_norm)  # also

    def train_epoch(self, loader):
        for x, y in loader:
            with self.accelerator.accumulate(self.model):
                loss = F.mse_loss(self.model(x), y)
                self.accelerator.backward(loss)
                self.clip()  # cause
                self.optimizer.step()
                self.updates += self.accelerator.sync_gradients
                self.optimizer.zero_grad()


def run():
    torch.manual_seed(0)
    trainer = Trainer(Net())
    x = torch.randn(32, 6) * 3
    loader = trainer.accelerator.prepare(DataLoader(TensorDataset(x, x.sum(dim=1)), batch_size=4))
    trainer.train_epoch(loader)
    return trainer.clips, trainer.updates


def verify(outcome):
    clips, updates = outcome
    assert updates == 2 and clips == 8


TRUTH = Truth(
    fault="gradients are clipped at each micro-batch while they still accumulate: the batches do not count alike",
    names=("clip_grad_norm_",),
    repair=("if self.accelerator.sync_gradients:\n    self.clip()",),
)

"""Script to Lightning: automatic_optimization=False, manual_backward and step were ported, the zero_grad at the loop's head was not."""

import logging
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class PairwiseRanker(L.LightningModule):
    def __init__(self, features=6):
        super().__init__()
        self.automatic_optimization = False
        self.scorer = nn.Sequential(nn.Linear(features, 12), nn.ReLU(), nn.Linear(12, 1))
        self.gaps = []

    def loss(self, better, worse):
        return F.softplus(self.scorer(worse) - self.scorer(better)).mean()

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        loss = self.loss(*batch)
        (own,) = torch.autograd.grad(self.loss(*batch), self.scorer[0].weight)
        self.manual_backward(loss)
        self.gaps.append(float((self.scorer[0].weight.grad - own).abs().max()))
        optimizer.step()  # cause

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    better = torch.randn(24, 6)
    data = TensorDataset(better, better - 0.5 * torch.rand(24, 6))
    model = PairwiseRanker()
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(data, batch_size=8))
    return model.gaps


def verify(gaps):
    assert gaps[0] < 1e-6 and gaps[-1] > 1e-4


TRUTH = Truth(
    fault="gradients are never cleared: every step uses the sum over all batches so far",
    names=("zero_grad",),
    repair=("optimizer.step()\noptimizer.zero_grad()",),
)

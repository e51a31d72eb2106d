"""Script to Lightning: the script called model.train() each epoch; Lightning keeps the modes it finds, and the loader returned the encoder in eval."""

import logging
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Encoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.inner = nn.Linear(dim, dim, bias=False)
        self.norm = nn.BatchNorm1d(dim)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x):
        return self.dropout(F.relu(self.norm(self.inner(x))))

    @classmethod
    def from_pretrained(cls, weights):
        model = cls()
        model.load_state_dict(weights)
        return model.eval()  # also


class FineTuner(L.LightningModule):
    def __init__(self, weights, classes=3):
        super().__init__()
        self.encoder = Encoder.from_pretrained(weights)  # cause
        self.classifier = nn.Linear(8, classes)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.classifier(self.encoder(x)), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    model = FineTuner(Encoder().state_dict())
    loader = DataLoader(TensorDataset(torch.randn(24, 8) + 2, torch.randint(0, 3, (24,))), batch_size=8)
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader)
    return model.encoder.norm


def verify(norm):
    assert not norm.running_mean.any() and norm.num_batches_tracked == 0


TRUTH = Truth(
    fault="the encoder is fine-tuned in eval mode: no dropout, its BatchNorm neither uses nor collects batch statistics",
    names=("encoder",),
    repair=("self.encoder = Encoder.from_pretrained(weights).train()",),
)

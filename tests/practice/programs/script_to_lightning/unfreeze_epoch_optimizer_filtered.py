"""Script to Lightning: the script rebuilt its optimizer when it unfroze the backbone; configure_optimizers runs once, while all is frozen."""

import logging
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class GradualUnfreezing(L.LightningModule):
    def __init__(self, unfreeze_at=1):
        super().__init__()
        self.unfreeze_at = unfreeze_at
        self.backbone = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 10), nn.Tanh())
        self.head = nn.Linear(10, 1)
        self.backbone.requires_grad_(False)

    def on_train_epoch_start(self):
        if self.current_epoch == self.unfreeze_at:
            self.backbone.requires_grad_(True)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.mse_loss(self.head(self.backbone(x)).squeeze(-1), y)

    def configure_optimizers(self):
        trainable = [p for p in self.parameters() if p.requires_grad]  # cause
        return torch.optim.Adam(trainable, lr=1e-2)


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    x = torch.randn(16, 6)
    model = GradualUnfreezing()
    before = model.backbone[0].weight.detach().clone()
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(x, x[:, 0]), batch_size=8))
    return before, model.backbone[0].weight


def verify(outcome):
    before, weight = outcome
    assert weight.requires_grad and torch.equal(before, weight.detach())


TRUTH = Truth(
    fault="the backbone is unfrozen at epoch 1 but is in no optimizer",
    names=("backbone",),
    repair=("trainable = list(self.parameters())",),
)

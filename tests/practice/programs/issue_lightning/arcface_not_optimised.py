"""Lightning metric learning: configure_optimizers takes self.backbone.parameters(), which leaves out the class centres of the loss."""

import logging
import warnings

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class ArcFaceLoss(nn.Module):
    def __init__(self, dim, n_classes, s=8.0, m=0.2):
        super().__init__()
        self.centres = nn.Parameter(torch.empty(n_classes, dim))
        nn.init.xavier_uniform_(self.centres)
        self.s, self.m = s, m

    def forward(self, emb, labels):
        cos = F.linear(F.normalize(emb), F.normalize(self.centres)).clamp(-1 + 1e-6, 1 - 1e-6)
        target = torch.cos(torch.acos(cos) + self.m)
        one_hot = F.one_hot(labels, cos.size(1)).bool()
        return F.cross_entropy(self.s * torch.where(one_hot, target, cos), labels)


class LitMetric(L.LightningModule):
    def __init__(self, n_in=8, dim=6, n_classes=4, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.backbone = nn.Sequential(nn.Linear(n_in, 16), nn.ReLU(), nn.Linear(16, dim))
        self.criterion = ArcFaceLoss(dim, n_classes)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self.backbone(x), y)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.backbone.parameters(), lr=self.hparams.lr)  # cause
        return {"optimizer": opt, "lr_scheduler": torch.optim.lr_scheduler.StepLR(opt, 1)}


def run():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 8), torch.arange(24) % 4)
    lit = LitMetric()
    before = {n: p.detach().clone() for n, p in lit.named_parameters()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = L.Trainer(
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(lit, DataLoader(data, batch_size=8))
    return {n: not torch.equal(p, before[n]) for n, p in lit.named_parameters()}


def verify(moved):
    assert moved["backbone.0.weight"]
    assert not moved["criterion.centres"]


TRUTH = Truth(
    fault="the optimizer holds only the backbone; the learned centres of the ArcFace loss get gradients but no step",
    names=("centres",),
    repair=("opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)",),
)

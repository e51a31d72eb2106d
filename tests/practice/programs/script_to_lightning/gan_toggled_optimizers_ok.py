"""Script to Lightning, healthy: manual optimization with toggled optimizers, gradients cleared after the step, a detached fake."""

import logging
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class TabularGAN(L.LightningModule):
    def __init__(self, latent=3, features=5):
        super().__init__()
        self.automatic_optimization = False
        self.latent = latent
        self.generator = nn.Sequential(nn.Linear(latent, 12), nn.ReLU(), nn.Linear(12, features))
        self.critic = nn.Sequential(nn.Linear(features, 12), nn.LeakyReLU(0.2), nn.Linear(12, 1))

    def optimize(self, optimizer, loss_fn):
        self.toggle_optimizer(optimizer)
        loss = loss_fn()
        self.manual_backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        self.untoggle_optimizer(optimizer)
        return loss.detach()

    def training_step(self, batch, batch_idx):
        (real,) = batch
        noise = torch.randn(real.shape[0], self.latent)
        g_opt, c_opt = self.optimizers()
        self.optimize(g_opt, lambda: F.softplus(-self.critic(self.generator(noise))).mean())
        fake = self.generator(noise).detach()
        self.optimize(c_opt, lambda: F.softplus(-self.critic(real)).mean() + F.softplus(self.critic(fake)).mean())

    def configure_optimizers(self):
        return [
            torch.optim.Adam(self.generator.parameters(), lr=1e-3),
            torch.optim.Adam(self.critic.parameters(), lr=1e-3),
        ]


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    model = TabularGAN()
    before = [p.detach().clone() for p in model.parameters()]
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(torch.randn(24, 5) + 1), batch_size=8))
    return before, list(model.parameters())


def verify(outcome):
    before, after = outcome
    assert all(not torch.equal(b, a.detach()) for b, a in zip(before, after, strict=True))
    assert all(a.requires_grad for a in after)


TRUTH = Truth()

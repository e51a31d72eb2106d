"""Healthy: Lightning with manual optimisation, toggled optimizers for a domain-adversarial model, and stepping every second batch."""

import logging
import warnings

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class DomainAdversarial(L.LightningModule):
    def __init__(self, every=2):
        super().__init__()
        self.automatic_optimization = False
        self.every = every
        self.features = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.label = nn.Linear(12, 3)
        self.domain = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 1))

    def training_step(self, batch, i):
        x, y, d = batch
        opt_main, opt_dom = self.optimizers()

        self.toggle_optimizer(opt_dom)
        z = self.features(x).detach()
        self.manual_backward(F.binary_cross_entropy_with_logits(self.domain(z)[:, 0], d) / self.every)
        if (i + 1) % self.every == 0:
            opt_dom.step()
            opt_dom.zero_grad()
        self.untoggle_optimizer(opt_dom)

        self.toggle_optimizer(opt_main)
        z = self.features(x)
        fool = F.binary_cross_entropy_with_logits(self.domain(z)[:, 0], 1 - d)
        self.manual_backward((F.cross_entropy(self.label(z), y) + 0.1 * fool) / self.every)
        if (i + 1) % self.every == 0:
            self.clip_gradients(opt_main, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            opt_main.step()
            opt_main.zero_grad()
        self.untoggle_optimizer(opt_main)

    def configure_optimizers(self):
        main = [*self.features.parameters(), *self.label.parameters()]
        return torch.optim.Adam(main, lr=1e-2), torch.optim.Adam(self.domain.parameters(), lr=1e-2)


def run():
    torch.manual_seed(0)
    x = torch.randn(32, 6)
    data = TensorDataset(x, x[:, :3].argmax(1), (x[:, 3] > 0).float())
    lit = DomainAdversarial()
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
    assert all(moved.values()), moved


TRUTH = Truth()

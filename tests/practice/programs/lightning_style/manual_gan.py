"""GAN as a Lightning module, optimizing manually."""

import logging
import warnings

import lightning as L
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class LitGAN(L.LightningModule):
    def __init__(self, z=3, x=5):
        super().__init__()
        self.automatic_optimization = False
        self.z = z
        self.generator = nn.Sequential(nn.Linear(z, 16), nn.LeakyReLU(0.2), nn.Linear(16, x))
        self.discriminator = nn.Sequential(nn.Linear(x, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def configure_optimizers(self):
        g = torch.optim.Adam(self.generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
        d = torch.optim.Adam(self.discriminator.parameters(), lr=1e-3, betas=(0.5, 0.9))
        return [g, d], []

    def training_step(self, batch):
        (x,) = batch
        g, d = self.optimizers()
        z = torch.randn(len(x), self.z)

        self.toggle_optimizer(g)
        g_loss = F.softplus(-self.discriminator(self.generator(z))).mean()
        self.manual_backward(g_loss)
        self.clip_gradients(g, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        g.step()
        g.zero_grad()
        self.untoggle_optimizer(g)

        self.toggle_optimizer(d)
        fake = self.generator(z).detach()
        d_loss = F.softplus(-self.discriminator(x)).mean() + F.softplus(self.discriminator(fake)).mean()
        self.manual_backward(d_loss)
        d.step()
        d.zero_grad()
        self.untoggle_optimizer(d)


def run():
    torch.manual_seed(0)
    model = LitGAN()
    start = {k: v.clone() for k, v in model.state_dict().items()}
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(torch.randn(32, 5)), batch_size=16))
    return start, model


TRUTH = Truth()


def verify(out):
    start, model = out
    assert all(not torch.equal(v, start[k]) for k, v in model.state_dict().items())
    assert all(p.requires_grad for p in model.parameters())

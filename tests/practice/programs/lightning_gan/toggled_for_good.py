"""lightning, manual optimization: toggle_optimizer() of the generator is not undone, and the discriminator is frozen for its own step."""

import logging
import tempfile
import warnings

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Generator(nn.Module):
    def __init__(self, latent_dim, size=64):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(latent_dim, 16), nn.BatchNorm1d(16), nn.LeakyReLU(0.2), nn.Linear(16, size), nn.Tanh()
        )

    def forward(self, z):
        return self.model(z).view(-1, 1, 8, 8)


class Discriminator(nn.Module):
    def __init__(self, size=64):
        super().__init__()
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(size, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, img):
        return self.model(img)


class GAN(L.LightningModule):
    def __init__(self, latent_dim=6, lr=2e-4):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.generator, self.discriminator = Generator(latent_dim), Discriminator()

    def adversarial_loss(self, y_hat, real):
        return F.binary_cross_entropy_with_logits(y_hat, torch.full_like(y_hat, float(real)))

    def training_step(self, batch, batch_idx):
        (imgs,) = batch
        optimizer_g, optimizer_d = self.optimizers()
        z = torch.randn(imgs.shape[0], self.hparams.latent_dim)

        self.toggle_optimizer(optimizer_g)  # also
        g_loss = self.adversarial_loss(self.discriminator(self.generator(z)), True)
        self.log("g_loss", g_loss, prog_bar=True)
        self.manual_backward(g_loss)
        optimizer_g.step()
        optimizer_g.zero_grad()  # cause

        self.toggle_optimizer(optimizer_d)
        real_loss = self.adversarial_loss(self.discriminator(imgs), True)
        fake_loss = self.adversarial_loss(self.discriminator(self.generator(z).detach()), False)
        d_loss = (real_loss + fake_loss) / 2
        self.log("d_loss", d_loss, prog_bar=True)
        self.manual_backward(d_loss)  # symptom
        optimizer_d.step()
        optimizer_d.zero_grad()
        self.untoggle_optimizer(optimizer_d)

    def configure_optimizers(self):
        lr = self.hparams.lr
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=lr, betas=(0.5, 0.999))
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=lr, betas=(0.5, 0.999))
        return [opt_g, opt_d], []


def run():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.rand(8, 1, 8, 8) * 2 - 1), batch_size=4)
    model = GAN()
    with tempfile.TemporaryDirectory() as path:
        trainer = L.Trainer(
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=path,
        )
        trainer.fit(model, loader)
    return model


TRUTH = Truth(
    fault="untoggle_optimizer(optimizer_g) is missing: the discriminator's parameters stay at requires_grad=False",
    raises="element 0 of tensors does not require grad",
    names=("toggle_optimizer", "discriminator"),
    repair=("optimizer_g.zero_grad()\nself.untoggle_optimizer(optimizer_g)",),
)

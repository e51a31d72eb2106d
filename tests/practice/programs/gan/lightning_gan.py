"""Lightning GAN, manual optimization: the generator is toggled and not untoggled, the discriminator stays frozen."""

import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
        self.discriminator = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def adversarial_loss(self, y_hat, y):
        return nn.functional.binary_cross_entropy_with_logits(y_hat, y)

    def training_step(self, batch, batch_idx):
        (real,) = batch
        opt_g, opt_d = self.optimizers()
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)

        self.toggle_optimizer(opt_g)  # also
        fake = self.generator(torch.randn(len(real), 4))
        g_loss = self.adversarial_loss(self.discriminator(fake), ones)
        opt_g.zero_grad()
        self.manual_backward(g_loss)
        opt_g.step()  # cause

        self.toggle_optimizer(opt_d)  # also
        real_loss = self.adversarial_loss(self.discriminator(real), ones)
        fake_loss = self.adversarial_loss(self.discriminator(fake.detach()), zeros)
        d_loss = (real_loss + fake_loss) / 2
        opt_d.zero_grad()
        self.manual_backward(d_loss)  # symptom
        opt_d.step()
        self.untoggle_optimizer(opt_d)

    def configure_optimizers(self):
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
        return [opt_g, opt_d], []


def setup():
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning.*")


def run():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(8, 6)), batch_size=4)
    trainer = L.Trainer(max_steps=4, accelerator="cpu", barebones=True)
    trainer.fit(GAN(), loader)


TRUTH = Truth(
    fault="untoggle_optimizer is missing after the generator's step",
    raises="element 0 of tensors does not require grad",
    names=("discriminator",),
    repair=("opt_g.step()\nself.untoggle_optimizer(opt_g)",),
)

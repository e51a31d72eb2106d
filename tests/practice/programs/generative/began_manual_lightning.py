"""Lightning: under manual optimization the two optimizers are unpacked in the other order than configured."""

import logging
import warnings

import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Generator(nn.Module):
    def __init__(self, latent_dim, width):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(latent_dim, 16), nn.LeakyReLU(0.2), nn.Linear(16, width), nn.Tanh())

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(width, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, x):
        return self.model(x)


class GAN(L.LightningModule):
    def __init__(self, width=10, latent_dim=4, lr=1e-2, b1=0.5, b2=0.999):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.generator = Generator(latent_dim, width)
        self.discriminator = Discriminator(width)
        self.moved = {"generator": [], "discriminator": []}

    def forward(self, z):
        return self.generator(z)

    @staticmethod
    def adversarial_loss(y_hat, target):
        return F.binary_cross_entropy_with_logits(y_hat, torch.full_like(y_hat, target))

    def training_step(self, batch):
        (imgs,) = batch
        optimizer_d, optimizer_g = self.optimizers()  # cause
        z = torch.randn(imgs.shape[0], self.hparams.latent_dim).type_as(imgs)

        before = self.discriminator.model[0].weight.detach().clone()
        self.generated_imgs = self(z)
        g_loss = self.adversarial_loss(self.discriminator(self.generated_imgs), 1.0)
        optimizer_g.zero_grad()
        self.manual_backward(g_loss)
        optimizer_g.step()
        self.moved["generator"].append(not torch.equal(before, self.discriminator.model[0].weight))

        before = self.generator.model[0].weight.detach().clone()
        real_loss = self.adversarial_loss(self.discriminator(imgs), 1.0)
        fake_loss = self.adversarial_loss(self.discriminator(self(z).detach()), 0.0)
        d_loss = (real_loss + fake_loss) / 2
        optimizer_d.zero_grad()
        self.manual_backward(d_loss)
        optimizer_d.step()
        self.moved["discriminator"].append(not torch.equal(before, self.generator.model[0].weight))

    def configure_optimizers(self):
        lr, betas = self.hparams.lr, (self.hparams.b1, self.hparams.b2)
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=lr, betas=betas)
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=lr, betas=betas)
        return [opt_g, opt_d], []  # also


def run():
    torch.manual_seed(0)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(24, 10)), batch_size=8)
    model = GAN()
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        barebones=False,
    )
    trainer.fit(model, data)
    return model.moved


def verify(moved):
    assert len(moved["generator"]) == 3 and all(moved["generator"])


TRUTH = Truth(
    fault="the generator's loss steps the discriminator's optimizer and the other way round",
    names=("discriminator", "generator"),
    repair=("optimizer_g, optimizer_d = self.optimizers()",),
)

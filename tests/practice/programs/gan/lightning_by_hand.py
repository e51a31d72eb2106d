"""GAN: Lightning with manual optimisation, toggled optimizers, accumulation and a frozen perceptual net; all right."""

import logging
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")


def mlp(inp, out):
    return nn.Sequential(nn.Linear(inp, 20), nn.LeakyReLU(0.2), nn.Linear(20, out))


class SuperResolution(L.LightningModule):
    def __init__(self, low=4, high=8, accumulate=2):
        super().__init__()
        self.automatic_optimization = False
        self.generator, self.discriminator = mlp(low, high), mlp(high, 1)
        self.perceptual = mlp(high, 6).requires_grad_(False)
        self.accumulate = accumulate
        self.strays = []

    def training_step(self, batch, index):
        low, high = batch
        g_opt, d_opt = self.optimizers()
        last = (index + 1) % self.accumulate == 0

        self.toggle_optimizer(g_opt)
        fake = self.generator(low)
        loss = F.l1_loss(fake, high) + F.mse_loss(self.perceptual(fake), self.perceptual(high))
        loss = loss + 0.1 * F.softplus(-self.discriminator(fake)).mean()
        self.manual_backward(loss / self.accumulate)
        if last:
            self.clip_gradients(g_opt, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            g_opt.step()
            g_opt.zero_grad()
        self.untoggle_optimizer(g_opt)

        self.toggle_optimizer(d_opt)
        real_loss = F.softplus(-self.discriminator(high)).mean()
        fake_loss = F.softplus(self.discriminator(fake.detach())).mean()
        self.manual_backward((real_loss + fake_loss) / self.accumulate)
        if last:
            d_opt.step()
            d_opt.zero_grad()
        self.untoggle_optimizer(d_opt)
        self.strays.append(any(p.requires_grad or p.grad is not None for p in self.perceptual.parameters()))

    def configure_optimizers(self):
        return (
            torch.optim.Adam(self.generator.parameters(), lr=1e-2),
            torch.optim.Adam(self.discriminator.parameters(), lr=1e-2),
        )


def pairs(n=24):
    high = torch.randn(n, 8)
    return DataLoader(TensorDataset(high[:, ::2] + 0.05 * torch.randn(n, 4), high), batch_size=6)


def run():
    torch.manual_seed(0)
    model = SuperResolution()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, pairs())
    free = [p.requires_grad for m in (model.generator, model.discriminator) for p in m.parameters()]
    return model.strays, free, {k: torch.equal(before[k], v) for k, v in model.state_dict().items()}


def verify(outcome):
    strays, free, same = outcome
    assert not any(strays) and all(free)
    assert all(kept == k.startswith("perceptual") for k, kept in same.items())


TRUTH = Truth()

"""Lightning by hand: optimizers are toggled so that the other net is frozen for the turn, and untoggled after it."""

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 5))
        self.discriminator = nn.Sequential(nn.Linear(5, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.history = []

    def training_step(self, batch, batch_idx):
        (real,) = batch
        opt_g, opt_d = self.optimizers()
        z = torch.randn(len(real), 3)
        self.toggle_optimizer(opt_g)
        g_loss = F.softplus(-self.discriminator(self.generator(z))).mean()
        self.log("g_loss", g_loss)
        opt_g.zero_grad()
        self.manual_backward(g_loss)
        opt_g.step()
        self.untoggle_optimizer(opt_g)

        self.toggle_optimizer(opt_d)
        fake = self.generator(z).detach()
        d_loss = (F.softplus(-self.discriminator(real)).mean() + F.softplus(self.discriminator(fake)).mean()) / 2
        opt_d.zero_grad()
        self.manual_backward(d_loss)
        self.clip_gradients(opt_d, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
        opt_d.step()
        self.untoggle_optimizer(opt_d)
        self.history.append((g_loss.item(), d_loss.item()))

    def on_train_epoch_end(self):
        for scheduler in self.lr_schedulers():
            scheduler.step()

    def configure_optimizers(self):
        opts = [
            torch.optim.Adam(m.parameters(), lr=2e-3, betas=(0.5, 0.999)) for m in (self.generator, self.discriminator)
        ]
        return opts, [torch.optim.lr_scheduler.ExponentialLR(o, 0.5) for o in opts]


def run():
    torch.manual_seed(0)
    model = GAN()
    start = model.generator[0].weight.detach().clone()
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(torch.randn(16, 5)), batch_size=8))
    return model, start


TRUTH = Truth()


def verify(out):
    model, start = out
    assert len(model.history) == 4 and not torch.equal(start, model.generator[0].weight)
    assert all(p.requires_grad and p.grad is not None for p in model.parameters())
    assert all(0 < v < 100 for row in model.history for v in row)

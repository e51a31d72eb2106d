"""Lightning module with two optimizers and manual optimization."""

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


class AdversarialAE(L.LightningModule):
    def __init__(self, x_dim=6, z_dim=2):
        super().__init__()
        self.automatic_optimization = False  # also
        self.encoder = nn.Sequential(nn.Linear(x_dim, 12), nn.ReLU(), nn.Linear(12, z_dim))
        self.decoder = nn.Linear(z_dim, x_dim)
        self.critic = nn.Sequential(nn.Linear(z_dim, 12), nn.ReLU(), nn.Linear(12, 1))

    def configure_optimizers(self):
        ae = torch.optim.Adam([*self.encoder.parameters(), *self.decoder.parameters()], lr=1e-3)
        return ae, torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def training_step(self, batch, batch_idx):
        (x,) = batch
        ae_opt, critic_opt = self.optimizers()

        z = self.encoder(x)
        prior = torch.randn_like(z)
        critic_loss = F.softplus(-self.critic(prior)).mean() + F.softplus(self.critic(z.detach())).mean()
        critic_opt.zero_grad()
        self.manual_backward(critic_loss)
        critic_opt.step()

        ae_loss = F.mse_loss(self.decoder(z), x) + 0.1 * F.softplus(-self.critic(z)).mean()
        ae_opt.zero_grad()
        self.manual_backward(ae_loss)
        ae_opt.step()


def make_trainer():
    return L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        gradient_clip_val=0.5,  # cause
    )


def run():
    torch.manual_seed(0)
    model = AdversarialAE()
    loader = DataLoader(TensorDataset(torch.randn(24, 6)), batch_size=8)
    trainer = make_trainer()
    trainer.fit(model, loader)  # symptom
    return trainer.global_step


TRUTH = Truth(
    fault="the trainer cannot clip for a module that optimizes manually",
    raises="Automatic gradient clipping is not supported for manual optimization",
    names=("gradient_clip_val",),
    repair=("",),
)


def well(out):
    assert out == 6

"""Lightning GAN: the critic's gradients are not cleared after the generator's backward went through the critic."""

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class SpeechGAN(L.LightningModule):
    def __init__(self, latent=4, dim=8):
        super().__init__()
        self.automatic_optimization = False
        self.latent = latent
        self.generator = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, dim), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(dim, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.seen = []

    def training_step(self, batch, batch_idx):
        (real,) = batch
        opt_g, opt_d = self.optimizers()
        z = torch.randn(len(real), self.latent)

        fake = self.generator(z)
        g_loss = F.softplus(-self.critic(fake)).mean()
        opt_g.zero_grad()
        self.manual_backward(g_loss)  # also
        opt_g.step()

        d_loss = F.softplus(-self.critic(real)).mean() + F.softplus(self.critic(fake.detach())).mean()
        self.manual_backward(d_loss)  # cause
        self.seen.append((self.critic[2].bias.grad.item(), [self.critic(x).detach() for x in (real, fake)]))
        opt_d.step()
        self.log_dict({"g": g_loss, "d": d_loss})

    def configure_optimizers(self):
        g = torch.optim.Adam(self.generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
        d = torch.optim.Adam(self.critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
        return [g, d], []


def run():
    torch.manual_seed(1)
    model = SpeechGAN()
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(torch.rand(12, 8) * 2 - 1), batch_size=4))
    print({k: round(v.item(), 3) for k, v in trainer.callback_metrics.items()})
    return model.seen


def verify(out):
    grad, (real, fake) = out[0]
    assert abs(grad - (torch.sigmoid(fake).mean() - torch.sigmoid(-real).mean())) > 0.1


TRUTH = Truth(
    fault="the generator's loss and older steps add up in the critic's gradients",
    names=("critic",),
    repair=("opt_d.zero_grad()\nself.manual_backward(d_loss)",),
)

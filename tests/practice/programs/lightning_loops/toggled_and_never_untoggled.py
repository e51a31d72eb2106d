"""Manual optimisation toggles the critic's optimizer and never untoggles: the generator stays frozen."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

from tests.practice.truth import Truth


class TextGAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6), nn.Softmax(-1))
        self.critic = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))

    def configure_optimizers(self):
        gen = torch.optim.Adam(self.generator.parameters(), 1e-2)
        return gen, torch.optim.Adam(self.critic.parameters(), 1e-2)

    def training_step(self, real, batch_idx):
        opt_g, opt_c = self.optimizers()
        z = torch.randn(len(real), 4)

        self.toggle_optimizer(opt_c)  # cause
        fake = self.generator(z).detach()
        loss_c = (1 - self.critic(real)).relu().mean() + (1 + self.critic(fake)).relu().mean()
        opt_c.zero_grad()
        self.manual_backward(loss_c)
        opt_c.step()

        loss_g = -self.critic(self.generator(z)).mean()
        opt_g.zero_grad()
        self.manual_backward(loss_g)
        opt_g.step()


def run():
    torch.manual_seed(0)
    model = TextGAN()
    before = [p.detach().clone() for p in model.generator.parameters()]
    data = DataLoader(torch.eye(6)[torch.randint(6, (16,))], batch_size=8)
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, data)
    return all(torch.equal(old, new) for old, new in zip(before, model.generator.parameters(), strict=True))


def verify(unmoved):
    assert unmoved


TRUTH = Truth(
    fault="the generator's parameters stay frozen after toggle_optimizer",
    names=("generator",),
    repair=("",),
)

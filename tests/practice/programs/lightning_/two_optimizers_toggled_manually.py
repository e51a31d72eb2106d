"""Lightning manual optimization: toggle_optimizer flips requires_grad, G and D take turns, D only every second batch."""

import logging
import warnings
import lightning as L
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from tests.practice.truth import Truth

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Gan(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.g = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
        self.d = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.1), nn.Linear(8, 1))
        self.noise = torch.Generator().manual_seed(1)

    def configure_optimizers(self):
        return torch.optim.SGD(self.g.parameters(), lr=0.1), torch.optim.SGD(self.d.parameters(), lr=0.2)

    def training_step(self, batch, index):
        g_opt, d_opt = self.optimizers()
        real = batch[0]
        z = torch.randn(len(real), 2, generator=self.noise)
        self.toggle_optimizer(g_opt)
        fake = self.g(z)
        g_loss = F.softplus(-self.d(fake)).mean()
        g_opt.zero_grad()
        self.manual_backward(g_loss)
        g_opt.step()
        self.untoggle_optimizer(g_opt)
        if index % 2 == 0:
            self.toggle_optimizer(d_opt)
            d_loss = F.softplus(-self.d(real)).mean() + F.softplus(self.d(fake.detach())).mean()
            d_opt.zero_grad()
            self.manual_backward(d_loss)
            d_opt.step()
            self.untoggle_optimizer(d_opt)


def build():
    torch.manual_seed(0)
    model = Gan()
    return model, torch.randn(24, 3, generator=torch.Generator().manual_seed(2)) + 1


def run():
    model, rows = build()
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
        trainer.fit(model, DataLoader(TensorDataset(rows), batch_size=6))
    return model


def verify(model):
    plain, rows = build()
    start = [p.detach().clone() for p in plain.parameters()]
    for i, real in enumerate(rows.split(6)):
        fake = plain.g(torch.randn(6, 2, generator=plain.noise))
        ps = list(plain.g.parameters())
        grads = torch.autograd.grad(F.softplus(-plain.d(fake)).mean(), ps)
        for p, g in zip(ps, grads):
            p.data -= 0.1 * g
        if i % 2 == 0:
            ps = list(plain.d.parameters())
            grads = torch.autograd.grad((F.softplus(-plain.d(real)) + F.softplus(plain.d(fake.detach()))).mean(), ps)
            for p, g in zip(ps, grads):
                p.data -= 0.2 * g
    for a, b, s in zip(model.parameters(), plain.parameters(), start):
        assert torch.allclose(a, b, atol=1e-5) and not torch.equal(a, s) and a.requires_grad


TRUTH = Truth()

"""DCGAN-like training step that reuses one batch of fakes for both players."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.2)


class GANTrainer:
    def __init__(self, z_dim=6, x_dim=10):
        self.z_dim = z_dim
        self.netG = nn.Sequential(nn.Linear(z_dim, 16), nn.LeakyReLU(0.2), nn.Linear(16, x_dim)).apply(weights_init)
        self.netD = nn.Sequential(nn.Linear(x_dim, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)).apply(weights_init)
        self.optG = torch.optim.Adam(self.netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
        self.optD = torch.optim.Adam(self.netD.parameters(), lr=2e-3, betas=(0.5, 0.999))

    def step(self, real):
        n = real.size(0)
        self.optD.zero_grad()
        self.optG.zero_grad()
        fake = self.netG(torch.randn(n, self.z_dim))
        errD = (
            F.binary_cross_entropy_with_logits(self.netD(real), torch.ones(n, 1))
            + F.binary_cross_entropy_with_logits(self.netD(fake), torch.zeros(n, 1))  # cause
        )
        errD.backward(retain_graph=True)  # also
        self.optD.step()

        errG = F.binary_cross_entropy_with_logits(self.netD(fake), torch.ones(n, 1))
        alone = torch.autograd.grad(errG, list(self.netG.parameters()), retain_graph=True)
        errG.backward()
        used = [p.grad.clone() for p in self.netG.parameters()]
        self.optG.step()
        return used, alone


def run():
    torch.manual_seed(999)
    trainer = GANTrainer()
    return [trainer.step(torch.randn(8, 10) * 0.5 + 1) for _ in range(3)]


TRUTH = Truth(
    fault="the discriminator's loss also puts gradients into the generator, which its step then applies",
    names=("fake",),
    repair=("+ F.binary_cross_entropy_with_logits(self.netD(fake.detach()), torch.zeros(n, 1))",),
)


def well(out):
    for used, alone in out:
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(used, alone))


verify = fails(well)

"""pix2pix: the discriminator is frozen for the generator's loss by no_grad, which cuts the adversarial term off."""

import torch
from torch import nn

from tests.practice.truth import Truth


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 4, 2, 1)
        self.up = nn.ConvTranspose2d(8, 8, 4, 2, 1)
        self.out = nn.Conv2d(11, 3, 3, padding=1)

    def forward(self, x):
        h = torch.relu(self.up(torch.relu(self.down(x))))
        return torch.tanh(self.out(torch.cat([h, x], 1)))


class PatchGAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(6, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 3, 1, 1))

    def forward(self, cond, img):
        return self.net(torch.cat([cond, img], 1))


def run():
    torch.manual_seed(0)
    G, D = UNet(), PatchGAN()
    opt_G = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
    opt_D = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    bce, l1 = nn.BCEWithLogitsLoss(), nn.L1Loss()
    loss_adv = None
    for _ in range(2):
        x, y = torch.randn(2, 3, 8, 8), torch.rand(2, 3, 8, 8) * 2 - 1
        fake = G(x)
        pred_real, pred_fake = D(x, y), D(x, fake.detach())
        loss_D = 0.5 * (bce(pred_real, torch.ones_like(pred_real)) + bce(pred_fake, torch.zeros_like(pred_fake)))
        opt_D.zero_grad()
        loss_D.backward()
        opt_D.step()

        with torch.no_grad():  # cause
            pred_fake = D(x, fake)  # also
        loss_adv = bce(pred_fake, torch.ones_like(pred_fake))
        loss_G = loss_adv + 100 * l1(fake, y)
        opt_G.zero_grad()
        loss_G.backward()
        opt_G.step()
    return loss_adv


def verify(loss_adv):
    assert not loss_adv.requires_grad


TRUTH = Truth(
    fault="the adversarial loss has no gradient; only L1 trains the generator",
    names=("pred_fake",),
    repair=("with torch.enable_grad():",),
)

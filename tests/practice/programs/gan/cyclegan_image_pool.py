"""CycleGAN: the history of generated images keeps their graphs, which the generators' update has freed."""

import itertools
import random

import torch
from torch import nn

from tests.practice.truth import Truth


class ImagePool:
    def __init__(self, size=8):
        self.size, self.images = size, []

    def query(self, images):
        out = []
        for image in images.unsqueeze(1):  # cause
            if len(self.images) < self.size:
                self.images.append(image)
                out.append(image)
            elif random.random() > 0.5:
                k = random.randrange(self.size)
                out.append(self.images[k].clone())
                self.images[k] = image
            else:
                out.append(image)
        return torch.cat(out)


def conv_net(out=3):
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.ReLU(), nn.Conv2d(8, out, 3, padding=1)
    )


class CycleGAN:
    def __init__(self):
        self.netG_A, self.netG_B = conv_net(), conv_net()
        self.netD_A, self.netD_B = conv_net(1), conv_net(1)
        self.pools = {"A": ImagePool(), "B": ImagePool()}
        self.l1, self.mse = nn.L1Loss(), nn.MSELoss()
        g = itertools.chain(self.netG_A.parameters(), self.netG_B.parameters())
        d = itertools.chain(self.netD_A.parameters(), self.netD_B.parameters())
        self.optimizer_G = torch.optim.Adam(g, lr=2e-4, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(d, lr=2e-4, betas=(0.5, 0.999))

    def set_requires_grad(self, nets, flag):
        for net in nets:
            net.requires_grad_(flag)

    def gan(self, pred, real):
        return self.mse(pred, torch.full_like(pred, float(real)))

    def backward_D(self, netD, real, fake):
        loss = 0.5 * (self.gan(netD(real), True) + self.gan(netD(fake), False))  # also
        loss.backward()  # symptom
        return loss.item()

    def optimize_parameters(self, real_A, real_B):
        fake_B, fake_A = self.netG_A(real_A), self.netG_B(real_B)
        rec_A, rec_B = self.netG_B(fake_B), self.netG_A(fake_A)
        self.set_requires_grad([self.netD_A, self.netD_B], False)
        self.optimizer_G.zero_grad()
        cycle = self.l1(rec_A, real_A) + self.l1(rec_B, real_B)
        loss_G = self.gan(self.netD_A(fake_B), True) + self.gan(self.netD_B(fake_A), True) + 10 * cycle
        loss_G.backward()
        self.optimizer_G.step()
        self.set_requires_grad([self.netD_A, self.netD_B], True)
        self.optimizer_D.zero_grad()
        self.backward_D(self.netD_A, real_B, self.pools["B"].query(fake_B))
        self.backward_D(self.netD_B, real_A, self.pools["A"].query(fake_A))
        self.optimizer_D.step()


def run():
    torch.manual_seed(0)
    random.seed(0)
    model = CycleGAN()
    for _ in range(2):
        model.optimize_parameters(torch.randn(2, 3, 8, 8), torch.randn(2, 3, 8, 8))


TRUTH = Truth(
    fault="the discriminator gets generated images that are not detached",
    raises="Trying to backward through the graph a second time",
    repair=("for image in images.detach().unsqueeze(1):",),
)

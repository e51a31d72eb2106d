"""Generative: the discriminators are stepped before the generators' loss, which was computed with their old weights, goes backward."""

import itertools
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ResnetBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv_block = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(dim, dim, 3),
            nn.InstanceNorm2d(dim),
            nn.ReLU(True),
            nn.ReflectionPad2d(1),
            nn.Conv2d(dim, dim, 3),
            nn.InstanceNorm2d(dim),
        )

    def forward(self, x):
        return x + self.conv_block(x)


def resnet_generator(ngf=4):
    return nn.Sequential(
        nn.Conv2d(1, ngf, 3, 1, 1), nn.ReLU(True), ResnetBlock(ngf), nn.Conv2d(ngf, 1, 3, 1, 1), nn.Tanh()
    )


def patch_discriminator(ndf=4):
    return nn.Sequential(nn.Conv2d(1, ndf, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(ndf, 1, 4, 1, 1))


class ImagePool:
    def __init__(self, pool_size):
        self.pool_size, self.images = pool_size, []

    def query(self, images):
        out = []
        for image in images:
            image = torch.unsqueeze(image.data, 0)
            if len(self.images) < self.pool_size:
                self.images.append(image)
                out.append(image)
            elif random.uniform(0, 1) > 0.5:
                k = random.randint(0, self.pool_size - 1)
                tmp, self.images[k] = self.images[k].clone(), image
                out.append(tmp)
            else:
                out.append(image)
        return torch.cat(out, 0)


class CycleGANModel:
    def __init__(self, lr=2e-4, lambda_cycle=10.0):
        self.netG_A, self.netG_B = resnet_generator(), resnet_generator()
        self.netD_A, self.netD_B = patch_discriminator(), patch_discriminator()
        self.fake_A_pool, self.fake_B_pool = ImagePool(8), ImagePool(8)
        self.lambda_cycle = lambda_cycle
        self.optimizer_G = torch.optim.Adam(
            itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()), lr=lr, betas=(0.5, 0.999)
        )
        self.optimizer_D = torch.optim.Adam(
            itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()), lr=lr, betas=(0.5, 0.999)
        )

    def set_input(self, real_A, real_B):
        self.real_A, self.real_B = real_A, real_B

    def forward(self):
        self.fake_B, self.fake_A = self.netG_A(self.real_A), self.netG_B(self.real_B)
        self.rec_A, self.rec_B = self.netG_B(self.fake_B), self.netG_A(self.fake_A)

    @staticmethod
    def gan_loss(pred, real):
        return F.mse_loss(pred, torch.full_like(pred, float(real)))

    def loss_G(self):
        adversarial = self.gan_loss(self.netD_A(self.fake_B), True) + self.gan_loss(self.netD_B(self.fake_A), True)
        cycle = F.l1_loss(self.rec_A, self.real_A) + F.l1_loss(self.rec_B, self.real_B)
        return adversarial + self.lambda_cycle * cycle

    def backward_D(self, netD, real, fake):
        loss_D = (self.gan_loss(netD(real), True) + self.gan_loss(netD(fake.detach()), False)) * 0.5
        loss_D.backward()

    def step_D(self):
        self.optimizer_D.zero_grad()
        self.backward_D(self.netD_A, self.real_B, self.fake_B_pool.query(self.fake_B))
        self.backward_D(self.netD_B, self.real_A, self.fake_A_pool.query(self.fake_A))
        self.optimizer_D.step()

    def optimize_parameters(self):
        self.forward()
        self.optimizer_G.zero_grad()
        loss_G = self.loss_G()
        self.step_D()  # cause
        loss_G.backward()  # symptom
        self.optimizer_G.step()


def run():
    torch.manual_seed(0)
    random.seed(0)
    model = CycleGANModel()
    for _ in range(2):
        model.set_input(torch.rand(2, 1, 8, 8) * 2 - 1, torch.rand(2, 1, 8, 8) * 2 - 1)
        model.optimize_parameters()
    return model


TRUTH = Truth(
    fault="optimizer_D.step() changes the discriminators in place between loss_G and its backward",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("optimizer_D", "step"),
    repair=(
        "loss_G.backward(retain_graph=True)\nself.optimizer_G.step()\nself.forward()\nself.step_D()\nself.optimizer_G.zero_grad()\nloss_G = self.loss_G()",
    ),
)

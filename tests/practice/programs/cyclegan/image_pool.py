"""CycleGAN: the image pool hands out a view of the slot that it then overwrites, so the discriminator sees no history."""

import itertools
import random

import torch
from torch import nn

from tests.practice.truth import Truth


class ImagePool:
    """Keeps earlier fakes; half of the time a query gives one of them back and stores the new one."""

    def __init__(self, pool_size, shape):
        self.pool_size = pool_size
        self.num_imgs = 0
        self.images = torch.zeros(pool_size, *shape)

    def query(self, images):
        return_images = []
        for image in images.detach():
            if self.num_imgs < self.pool_size:
                self.images[self.num_imgs] = image
                self.num_imgs += 1
                return_images.append(image)
            elif random.uniform(0, 1) > 0.5:
                random_id = random.randint(0, self.pool_size - 1)
                tmp = self.images[random_id]  # cause
                self.images[random_id] = image  # also
                return_images.append(tmp)
            else:
                return_images.append(image)
        return torch.stack(return_images, 0)


def define_G():
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1), nn.InstanceNorm2d(6), nn.ReLU(), nn.Conv2d(6, 3, 3, padding=1), nn.Tanh()
    )


def define_D():
    return nn.Sequential(nn.Conv2d(3, 6, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(6, 1, 3, padding=1))


class CycleGANModel:
    def __init__(self):
        self.netG_A, self.netG_B = define_G(), define_G()
        self.netD_A, self.netD_B = define_D(), define_D()
        self.fake_A_pool, self.fake_B_pool = ImagePool(2, (3, 8, 8)), ImagePool(2, (3, 8, 8))
        self.criterionGAN, self.criterionCycle = nn.MSELoss(), nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()), 2e-3)
        self.optimizer_D = torch.optim.Adam(itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()), 2e-3)
        self.history = 0

    def set_requires_grad(self, nets, flag):
        for net in nets:
            for param in net.parameters():
                param.requires_grad = flag

    def gan(self, pred, real):
        return self.criterionGAN(pred, torch.full_like(pred, float(real)))

    def backward_D(self, netD, real, fake, pool):
        shown = pool.query(fake)
        self.history += sum(not any(torch.equal(s, f) for f in fake) for s in shown)
        loss = 0.5 * (self.gan(netD(real), True) + self.gan(netD(shown), False))
        loss.backward()

    def optimize_parameters(self, real_A, real_B):
        fake_B, fake_A = self.netG_A(real_A), self.netG_B(real_B)
        rec_A, rec_B = self.netG_B(fake_B), self.netG_A(fake_A)
        self.set_requires_grad([self.netD_A, self.netD_B], False)
        self.optimizer_G.zero_grad()
        loss_G = self.gan(self.netD_A(fake_B), True) + self.gan(self.netD_B(fake_A), True)
        loss_G = loss_G + 10 * (self.criterionCycle(rec_A, real_A) + self.criterionCycle(rec_B, real_B))
        loss_G.backward()
        self.optimizer_G.step()
        self.set_requires_grad([self.netD_A, self.netD_B], True)
        self.optimizer_D.zero_grad()
        self.backward_D(self.netD_A, real_B, fake_B, self.fake_B_pool)
        self.backward_D(self.netD_B, real_A, fake_A, self.fake_A_pool)
        self.optimizer_D.step()


def run():
    torch.manual_seed(0)
    random.seed(0)
    model = CycleGANModel()
    for _ in range(4):
        model.optimize_parameters(torch.rand(2, 3, 8, 8) * 2 - 1, torch.rand(2, 3, 8, 8) * 2 - 1)
    return model.history


def verify(outcome):
    assert outcome == 0, outcome


TRUTH = Truth(
    fault="the pool returns a view of its own slot, overwritten before it is used: the old image is lost",
    names=("images",),
    repair=("tmp = self.images[random_id].clone()",),
)

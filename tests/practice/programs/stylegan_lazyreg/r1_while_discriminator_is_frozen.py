"""StyleGAN2-like: the lazy R1 term is taken after the discriminator was frozen for the generator: it regularises nothing."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

D_REG_EVERY = 2
R1_GAMMA = 10.0


def requires_grad(model, flag):
    for p in model.parameters():
        p.requires_grad_(flag)


class Generator(nn.Module):
    def __init__(self, z=4):
        super().__init__()
        self.mapping = nn.Sequential(nn.Linear(z, 16), nn.LeakyReLU(0.2))
        self.synthesis = nn.Linear(16, 3 * 8 * 8)

    def forward(self, z):
        return self.synthesis(self.mapping(z)).view(-1, 3, 8, 8).tanh()


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.out = nn.Linear(8 * 4 * 4, 1)

    def forward(self, x):
        return self.out(F.softplus(self.conv(x)).flatten(1))


def d_r1_loss(real_pred, real_img):
    (grad,) = torch.autograd.grad(real_pred.sum(), real_img, create_graph=True)
    return grad.pow(2).flatten(1).sum(1).mean()


def run():
    torch.manual_seed(0)
    g, d = Generator(), Discriminator()
    g_optim = torch.optim.Adam(g.parameters(), lr=2e-3, betas=(0.0, 0.99))
    d_optim = torch.optim.SGD(d.parameters(), lr=2e-3)
    moved_by_r1 = []
    for step in range(4):
        real = torch.randn(4, 3, 8, 8).tanh()

        requires_grad(g, False)
        requires_grad(d, True)
        d_loss = F.softplus(d(g(torch.randn(4, 4)))).mean() + F.softplus(-d(real)).mean()
        d_optim.zero_grad()
        d_loss.backward()
        d_optim.step()

        requires_grad(g, True)
        requires_grad(d, False)  # also
        g_loss = F.softplus(-d(g(torch.randn(4, 4)))).mean()
        g_optim.zero_grad()
        g_loss.backward()
        g_optim.step()

        if step % D_REG_EVERY == 0:
            before = d.conv.weight.detach().clone()
            d_optim.zero_grad()  # cause
            real_img = real.clone().requires_grad_(True)
            r1_loss = d_r1_loss(d(real_img), real_img)
            (R1_GAMMA / 2 * r1_loss * D_REG_EVERY).backward()
            d_optim.step()
            moved_by_r1.append((d.conv.weight - before).abs().max().item())
    return moved_by_r1


def verify(outcome):
    assert outcome == [0.0, 0.0]


TRUTH = Truth(
    fault="R1 is computed while requires_grad of the discriminator is off: its backward reaches only the images, the step does nothing",
    names=("conv",),
    repair=("requires_grad(d, True)\nd_optim.zero_grad()",),
)

"""The original WGAN: backward with a gradient of one and minus one, clipped weights, a volatile generator; nothing is wrong."""

import torch
from torch import nn

from tests.practice.truth import Truth

OPT = {"nz": 6, "batchSize": 4, "clamp": 0.05, "lrD": 5e-4, "lrG": 5e-4, "Diters": 3}


class DCGAN_D(nn.Module):
    def __init__(self, ndf=6):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, 2 * ndf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(2 * ndf),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(2 * ndf, 1, 2, 1, 0, bias=False),
        )

    def forward(self, x):
        return self.main(x).mean(0).view(1)


class MLP_G(nn.Module):
    def __init__(self, nz, ngf=16):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(nz, ngf), nn.ReLU(True), nn.Linear(ngf, 64), nn.Tanh())

    def forward(self, z):
        return self.main(z.view(z.size(0), -1)).view(-1, 1, 8, 8)


def weights_init(m):
    name = m.__class__.__name__
    if name.find("Conv") != -1:
        m.weight.data.normal_(0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        m.weight.data.normal_(1.0, 0.02)
        m.bias.data.fill_(0)


def run():
    torch.manual_seed(0)
    netD, netG = DCGAN_D(), MLP_G(OPT["nz"])
    netD.apply(weights_init)
    optimizerD = torch.optim.RMSprop(netD.parameters(), lr=OPT["lrD"])
    optimizerG = torch.optim.RMSprop(netG.parameters(), lr=OPT["lrG"])
    one = torch.ones(1)
    mone = one * -1
    noise = torch.empty(OPT["batchSize"], OPT["nz"])
    before = [p.detach().clone() for p in netG.parameters()], [p.detach().clone() for p in netD.parameters()]
    largest = 0.0
    for _ in range(3):
        for p in netD.parameters():
            p.requires_grad = True
        for _ in range(OPT["Diters"]):
            for p in netD.parameters():
                p.data.clamp_(-OPT["clamp"], OPT["clamp"])
            largest = max(largest, netD.main[0].weight.abs().max().item())
            netD.zero_grad()
            errD_real = netD(torch.randn(OPT["batchSize"], 1, 8, 8))
            errD_real.backward(one)
            noise.normal_(0, 1)
            with torch.no_grad():
                fake = netG(noise)
            errD_fake = netD(fake)
            errD_fake.backward(mone)
            optimizerD.step()

        for p in netD.parameters():
            p.requires_grad = False
        netG.zero_grad()
        noise.normal_(0, 1)
        errG = netD(netG(noise))
        errG.backward(one)
        optimizerG.step()
    moved_g = all(not torch.equal(b, p) for b, p in zip(before[0], netG.parameters()))
    moved_d = all(not torch.equal(b, p) for b, p in zip(before[1], netD.parameters()))
    return moved_g, moved_d, largest


def verify(outcome):
    moved_g, moved_d, largest = outcome
    assert moved_g and moved_d and largest <= OPT["clamp"] + 1e-6, outcome


TRUTH = Truth()

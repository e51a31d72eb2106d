"""Vector GAN: one detached fake batch is used for both losses, so the generator never learns."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

nz, nd, bs = 6, 2, 16


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.2)
        nn.init.zeros_(m.bias)


class netG_(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(nz, 24), nn.ReLU(True), nn.Linear(24, nd))

    def forward(self, z):
        return self.main(z)


class netD_(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(nd, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))

    def forward(self, x):
        return self.main(x).view(-1)


def run():
    torch.manual_seed(999)
    netG = netG_().apply(weights_init)
    netD = netD_().apply(weights_init)
    criterion = nn.BCEWithLogitsLoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
    g0 = [p.detach().clone() for p in netG.parameters()]
    d0 = [p.detach().clone() for p in netD.parameters()]
    ones, zeros = torch.ones(bs), torch.zeros(bs)

    for i in range(4):
        ############################
        # (1) Update D network: maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        real = torch.randn(bs, nd) * 0.3 + 2
        errD_real = criterion(netD(real), ones)
        fake = netG(torch.randn(bs, nz)).detach()  # also
        errD_fake = criterion(netD(fake), zeros)
        (errD_real + errD_fake).backward()
        optimizerD.step()

        ############################
        # (2) Update G network: maximize log(D(G(z)))
        netG.zero_grad()
        errG = criterion(netD(fake), ones)  # cause
        errG.backward()
        optimizerG.step()

    return g0, list(netG.parameters()), d0, list(netD.parameters())


def verify(outcome):
    g0, g1, d0, d1 = outcome
    assert any(not torch.equal(a, b) for a, b in zip(d0, d1))
    assert all(torch.equal(a, b) for a, b in zip(g0, g1))


TRUTH = Truth(
    fault="the fake batch is detached where it is made, so the generator's loss reaches only the discriminator",
    names=("netG",),
    repair=("errG = criterion(netD(netG(torch.randn(bs, nz))), ones)",),
)

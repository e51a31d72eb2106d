"""DCGAN's example: one fake batch, detached for the discriminator, whole for the generator; scores logged by item."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    G = nn.Sequential(
        nn.ConvTranspose2d(4, 6, 4), nn.BatchNorm2d(6), nn.ReLU(True), nn.ConvTranspose2d(6, 1, 4, 2, 1), nn.Tanh()
    )
    D = nn.Sequential(nn.Conv2d(1, 6, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(6, 1, 4), nn.Flatten())
    criterion = nn.BCEWithLogitsLoss()
    fixed = torch.randn(2, 4, 1, 1)
    optD = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optG = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
    images = []
    for _ in range(3):
        D.zero_grad()
        real = torch.rand(4, 1, 8, 8) * 2 - 1
        label = torch.full((4,), 1.0)
        output = D(real).view(-1)
        errD_real = criterion(output, label)
        errD_real.backward()
        D_x = output.sigmoid().mean().item()
        fake = G(torch.randn(4, 4, 1, 1))
        label.fill_(0.0)
        output = D(fake.detach()).view(-1)
        errD_fake = criterion(output, label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optD.step()
        G.zero_grad()
        label.fill_(1.0)
        output = D(fake).view(-1)
        errG = criterion(output, label)
        errG.backward()
        optG.step()
        with torch.no_grad():
            images.append(G(fixed).detach().cpu())
        print(errD.item(), errG.item(), D_x)
    return images


TRUTH = Truth()

import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, latent_dim=8):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(latent_dim, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 12), nn.Tanh()
        )

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(12, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 1))

    def forward(self, img):
        return self.model(img)


def run():
    netG, netD = Generator(), Discriminator()
    criterion = nn.BCEWithLogitsLoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    G_losses, D_losses = [], []
    for i in range(4):
        real = torch.randn(8, 12)
        netD.zero_grad()
        output = netD(real)
        errD_real = criterion(output, torch.ones(8, 1))
        errD_real.backward()
        noise = torch.randn(8, 8)
        fake = netG(noise)
        output = netD(fake.detach())
        errD_fake = criterion(output, torch.zeros(8, 1))
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()
        netG.zero_grad()
        output = netD(fake)
        errG = criterion(output, torch.ones(8, 1))
        errG.backward()
        optimizerG.step()
        G_losses.append(errG.item())
        D_losses.append(errD.item())
    return netG, netD

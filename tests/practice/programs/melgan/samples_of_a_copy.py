"""MelGAN: spectral norm in the discriminator, samples from a stripped copy, detached feature matching targets; nothing is wrong."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations

from tests.practice.truth import Truth


class Generator(nn.Module):
    def __init__(self, mels=5, ch=8):
        super().__init__()
        self.net = nn.Sequential(
            weight_norm(nn.Conv1d(mels, ch, 5, padding=2)),
            nn.LeakyReLU(0.2),
            weight_norm(nn.ConvTranspose1d(ch, ch, 4, 2, 1)),
            nn.LeakyReLU(0.2),
            weight_norm(nn.Conv1d(ch, 1, 5, padding=2)),
            nn.Tanh(),
        )

    def forward(self, mel):
        return self.net(mel)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                spectral_norm(nn.Conv1d(1, 6, 5, 2, 2)),
                spectral_norm(nn.Conv1d(6, 8, 5, 2, 2)),
                nn.Conv1d(8, 1, 3, 1, 1),
            ]
        )

    def forward(self, x):
        features = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), 0.2)
            features.append(x)
        return features


@torch.no_grad()
def sample(generator, mel):
    # not copy.deepcopy(): a copy shares the parametrized classes, and removal edits the class
    stripped = Generator().eval()
    stripped.load_state_dict(generator.state_dict())
    for module in stripped.modules():
        if is_parametrized(module, "weight"):
            remove_parametrizations(module, "weight")
    out = stripped(mel)
    assert torch.allclose(out, generator(mel), atol=1e-5)
    return out


def run():
    torch.manual_seed(0)
    netG, netD = Generator(), Discriminator()
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))
    optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
    startG = {n: p.detach().clone() for n, p in netG.named_parameters()}
    startD = {n: p.detach().clone() for n, p in netD.named_parameters()}
    for _ in range(4):
        mel, audio = torch.randn(3, 5, 8), torch.rand(3, 1, 16) * 2 - 1
        fake = netG(mel)
        loss_D = F.relu(1 + netD(fake.detach())[-1]).mean() + F.relu(1 - netD(audio)[-1]).mean()
        netD.zero_grad()
        loss_D.backward()
        optD.step()

        d_fake = netD(fake)
        with torch.no_grad():
            d_real = netD(audio)
        loss_G = -d_fake[-1].mean()
        for f, r in zip(d_fake[:-1], d_real[:-1]):
            loss_G = loss_G + 10 * F.l1_loss(f, r.detach())
        netG.zero_grad()
        loss_G.backward()  # fills the discriminator's gradients too; they are cleared before its next step
        optG.step()
        sample(netG, mel[:1])
    stillG = [n for n, p in netG.named_parameters() if torch.equal(p, startG[n])]
    stillD = [n for n, p in netD.named_parameters() if torch.equal(p, startD[n])]
    return stillG, stillD


def verify(outcome):
    assert outcome == ([], []), outcome


TRUTH = Truth()

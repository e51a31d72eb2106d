"""Mixed precision: the generator's loss is not scaled, but its step divides by the scale all the same."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ResidualDenseBlock(nn.Module):
    def __init__(self, num_feat=8, num_grow_ch=4):
        super().__init__()
        self.conv1 = nn.Conv2d(num_feat, num_grow_ch, 3, 1, 1)
        self.conv2 = nn.Conv2d(num_feat + num_grow_ch, num_feat, 3, 1, 1)
        self.lrelu = nn.LeakyReLU(0.2, inplace=True)

    def forward(self, x):
        x1 = self.lrelu(self.conv1(x))
        return self.conv2(torch.cat((x, x1), 1)) * 0.2 + x


class RRDBNet(nn.Module):
    def __init__(self, num_feat=8, scale=2):
        super().__init__()
        self.conv_first = nn.Conv2d(1, num_feat, 3, 1, 1)
        self.body = nn.Sequential(ResidualDenseBlock(num_feat), ResidualDenseBlock(num_feat))
        self.upsample = nn.Sequential(nn.Conv2d(num_feat, scale**2, 3, 1, 1), nn.PixelShuffle(scale))

    def forward(self, x):
        return self.upsample(self.body(self.conv_first(x)))


class Discriminator(nn.Module):
    def __init__(self, num_feat=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, num_feat, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(num_feat, 1, 3, 1, 1)
        )

    def forward(self, x):
        return self.net(x)


class ESRGANModel:
    def __init__(self, lr=1e-2):
        self.net_g, self.net_d = RRDBNet(), Discriminator()
        self.optimizer_g = torch.optim.SGD(self.net_g.parameters(), lr=lr)
        self.optimizer_d = torch.optim.SGD(self.net_d.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, growth_interval=100)

    def autocast(self):
        return torch.autocast("cpu", dtype=torch.bfloat16)

    def optimize_parameters(self, lq, gt):
        with self.autocast():
            output = self.net_g(lq)
        for p in self.net_d.parameters():
            p.requires_grad = True
        self.optimizer_d.zero_grad()
        with self.autocast():
            l_d_real = F.softplus(-self.net_d(gt)).mean()
        self.scaler.scale(l_d_real).backward()
        with self.autocast():
            l_d_fake = F.softplus(self.net_d(output.detach())).mean()
        self.scaler.scale(l_d_fake).backward()
        self.scaler.step(self.optimizer_d)

        for p in self.net_d.parameters():
            p.requires_grad = False
        self.optimizer_g.zero_grad()
        with self.autocast():
            l_g_pix = F.l1_loss(output, gt)
            l_g_gan = F.softplus(-self.net_d(output)).mean()
            l_g_total = l_g_pix + 0.1 * l_g_gan
        l_g_total.backward()  # cause
        self.scaler.step(self.optimizer_g)
        self.scaler.update()
        return {"l_g": l_g_total.item(), "l_d": (l_d_real + l_d_fake).item()}


def degrade(gt):
    lq = F.interpolate(gt, scale_factor=0.5, mode="area")
    return lq + 0.01 * torch.randn_like(lq)


def movement(module, before):
    return sum((p.detach() - b).norm().item() for p, b in zip(module.parameters(), before))


def run():
    torch.manual_seed(10)
    model = ESRGANModel()
    g = [p.detach().clone() for p in model.net_g.parameters()]
    d = [p.detach().clone() for p in model.net_d.parameters()]
    log = []
    for _ in range(3):
        gt = torch.rand(4, 1, 8, 8)
        log.append(model.optimize_parameters(degrade(gt), gt))
    return movement(model.net_g, g), movement(model.net_d, d)


def verify(outcome):
    g, d = outcome
    assert g < d / 100


TRUTH = Truth(
    fault="the generator's gradients are unscaled without having been scaled, its steps are 16384 times too small",
    names=("scaler", "backward"),
    repair=("self.scaler.scale(l_g_total).backward()",),
)

"""Diffusion: ControlNet's hint block ends in a zero convolution that feeds a second one directly; neither ever gets a gradient."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def zero_module(module):
    for p in module.parameters():
        p.detach().zero_()
    return module


class ResBlock(nn.Module):
    def __init__(self, channels, emb):
        super().__init__()
        self.in_layers = nn.Sequential(
            nn.GroupNorm(2, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1)
        )
        self.emb_layers = nn.Linear(emb, channels)
        self.out_layers = nn.Sequential(nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1))

    def forward(self, x, emb):
        h = self.in_layers(x) + self.emb_layers(emb)[:, :, None, None]
        return x + self.out_layers(h)


class UNetModel(nn.Module):
    def __init__(self, cin=2, channels=8, emb=8):
        super().__init__()
        self.time_embed = nn.Embedding(50, emb)
        self.conv_in = nn.Conv2d(cin, channels, 3, padding=1)
        self.input_blocks = nn.ModuleList(ResBlock(channels, emb) for _ in range(2))
        self.output_blocks = nn.ModuleList(ResBlock(channels, emb) for _ in range(2))
        self.out = nn.Conv2d(channels, cin, 3, padding=1)

    def forward(self, x, t, control):
        emb, h, hs = self.time_embed(t), self.conv_in(x), []
        for block in self.input_blocks:
            h = block(h, emb)
            hs.append(h)
        for block in self.output_blocks:
            h = block(h + hs.pop() + control.pop(), emb)
        return self.out(h)


class ControlNet(nn.Module):
    """A shallow hint-only control: hint block, gate, one zero convolution for each skip."""

    def __init__(self, unet, hint_channels=3, channels=8):
        super().__init__()
        self.time_embed = copy.deepcopy(unet.time_embed)
        self.input_hint_block = nn.Sequential(
            nn.Conv2d(hint_channels, channels, 3, padding=1),
            nn.SiLU(),
            zero_module(nn.Conv2d(channels, channels, 3, padding=1)),  # cause
        )
        self.gate = nn.Linear(8, channels)
        convs = [nn.Conv2d(channels, channels, 1, bias=False) for _ in range(2)]
        self.zero_convs = nn.ModuleList(zero_module(conv) for conv in convs)  # also

    def forward(self, hint, t):
        guided_hint = self.input_hint_block(hint)
        gate = torch.sigmoid(self.gate(self.time_embed(t)))[:, :, None, None]
        return [conv(guided_hint * gate) for conv in self.zero_convs]


class ControlLDM:
    def __init__(self):
        self.unet = UNetModel().eval().requires_grad_(False)
        self.control = ControlNet(self.unet)
        self.opt = torch.optim.AdamW(self.control.parameters(), lr=1e-3, weight_decay=0.0)
        self.alphas = torch.cumprod(1 - torch.linspace(1e-3, 0.05, 50), 0)

    def p_losses(self, x0, hint):
        t = torch.randint(0, 50, (len(x0),))
        a = self.alphas[t].view(-1, 1, 1, 1)
        noise = torch.randn_like(x0)
        x = a.sqrt() * x0 + (1 - a).sqrt() * noise
        return F.mse_loss(self.unet(x, t, self.control(hint, t)), noise)

    def train_step(self, x0, hint):
        loss = self.p_losses(x0, hint)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    model = ControlLDM()
    before = {n: p.detach().clone() for n, p in model.control.named_parameters()}
    for _ in range(4):
        model.train_step(torch.randn(4, 2, 6, 6), torch.rand(4, 3, 6, 6))
    return [n for n, p in model.control.named_parameters() if not torch.equal(p, before[n])]


def verify(moved):
    assert not moved


TRUTH = Truth(
    values=True,
    fault="two zero-initialised convolutions in a row: all gradients of the control network are zero for ever",
    names=("zero_convs",),
    repair=("nn.Conv2d(channels, channels, 3, padding=1),",),
)

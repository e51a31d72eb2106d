"""A causal net with weight norm trains, and the norm of a second net with its state is folded into plain weights for use."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


class ResBlock(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = weight_norm(nn.Conv1d(width, 2 * width, 3, dilation=dilation))
        self.skip = weight_norm(nn.Conv1d(width, width, 1))

    def forward(self, x):
        a, b = self.conv(F.pad(x, (self.pad, 0))).chunk(2, 1)
        h = torch.tanh(a) * torch.sigmoid(b)
        return x + self.skip(h)


def build():
    return nn.Sequential(weight_norm(nn.Conv1d(1, 6, 1)), ResBlock(6, 1), ResBlock(6, 2), nn.Conv1d(6, 1, 1))


def export(model):
    plain = build().eval()
    plain.load_state_dict(model.state_dict())
    for m in plain.modules():
        if parametrize.is_parametrized(m):
            parametrize.remove_parametrizations(m, "weight")
    return plain.requires_grad_(False)


def run():
    torch.manual_seed(0)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        wave = torch.sin(torch.linspace(0, 6, 17) + 6 * torch.rand(4, 1)).unsqueeze(1)
        loss = F.mse_loss(model(wave[..., :-1]), wave[..., 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    plain = export(model)
    with torch.no_grad():
        gap = (plain(wave) - model(wave)).abs().max().item()
    return model, plain, losses, gap


TRUTH = Truth()


def verify(out):
    model, plain, losses, gap = out
    assert gap < 1e-5 and max(losses) < 100 and len(list(plain.parameters())) < len(list(model.parameters()))
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())

"""VQ-VAE: codebook loss and commitment with the detach on either side, and a straight-through output."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class VQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.codes, self.dec = nn.Linear(8, 4), nn.Embedding(16, 4), nn.Linear(4, 8)

    def forward(self, x):
        z = self.enc(x)
        q = self.codes(torch.cdist(z, self.codes.weight).argmin(1))
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return F.mse_loss(self.dec(z + (q - z).detach()), x) + loss


def run():
    torch.manual_seed(0)
    net = VQ()
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(16, 8)).backward()
        opt.step()
    return net


TRUTH = Truth()

"""Self-conditioned denoiser under autocast: the weights that it casts under no_grad are cast again for the second forward."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class SelfCondNet(nn.Module):
    def __init__(self, dim=4, width=32):
        super().__init__()
        self.inp = nn.Linear(2 * dim + 1, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, dim)

    def forward(self, x_t, t, x_self):
        h = F.silu(self.inp(torch.cat([x_t, x_self, t], -1)))
        return self.out(h + F.silu(self.mid(h)))


class Trainer:
    def __init__(self, net, lr=1e-3):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)

    def corrupt(self, x0):
        t = torch.rand(len(x0), 1)
        a = torch.cos(t * torch.pi / 2)
        return a * x0 + (1 - a * a).sqrt() * torch.randn_like(x0), t

    def train_step(self, x0, use_self_cond):
        x_t, t = self.corrupt(x0)
        x_self = torch.zeros_like(x0)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            if use_self_cond:
                with torch.no_grad():
                    x_self = self.net(x_t, t, x_self).float()
            pred = self.net(x_t, t, x_self)
            loss = F.mse_loss(pred.float(), x0)
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        had = {n: p.grad is not None for n, p in self.net.named_parameters()}
        self.opt.step()
        return loss.item(), had


def run():
    torch.manual_seed(0)
    trainer = Trainer(SelfCondNet())
    return [trainer.train_step(torch.randn(16, 4), use_self_cond=i % 2 == 1)[1] for i in range(4)]


TRUTH = Truth()


def verify(out):
    assert all(all(had.values()) for had in out)

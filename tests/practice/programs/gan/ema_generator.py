"""GAN with an averaged generator: the average is updated with gradients on, its graph grows with every iteration."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.fc2 = nn.Linear(16, 12)

    def forward(self, z):
        return torch.tanh(self.fc2(torch.relu(self.norm(self.fc1(z)))))


def accumulate(ema, model, decay=0.999):
    for p_ema, p in zip(ema.parameters(), model.parameters()):
        p_ema.mul_(decay).add_(p, alpha=1 - decay)  # cause
    for b_ema, b in zip(ema.buffers(), model.buffers()):
        b_ema.copy_(b)


@torch.no_grad()
def sample(ema, n=4):
    ema.eval()
    return ema(torch.randn(n, 8))


def run():
    torch.manual_seed(0)
    gen = Generator()
    disc = nn.Sequential(nn.Linear(12, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    g_ema = copy.deepcopy(gen)
    g_ema.requires_grad_(False)
    g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.99))
    d_opt = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.0, 0.99))
    for step in range(4):
        real = torch.rand(8, 12) * 2 - 1
        fake = gen(torch.randn(8, 8))
        d_loss = torch.relu(1 - disc(real)).mean() + torch.relu(1 + disc(fake.detach())).mean()
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
        g_loss = -disc(fake).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        accumulate(g_ema, gen)
        if step % 2:
            sample(g_ema)
    return g_ema


def verify(g_ema):
    depth, node = 0, g_ema.fc1.weight.grad_fn
    while node is not None:
        depth, node = depth + 1, node.next_functions[0][0]
    assert depth >= 7


TRUTH = Truth(
    fault="the moving average is recorded by autograd and grows",
    names=("ema",),
    repair=("p_ema.mul_(decay).add_(p.detach(), alpha=1 - decay)",),
)

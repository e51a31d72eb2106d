"""A class-conditional denoiser: labels dropped at random, sizes that vary, autocast, an average, samples."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.label, self.time = nn.Embedding(4, 8), nn.Linear(1, 8)
        self.inp, self.out = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 1, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x, t, y):
        shift = self.label(y) + self.time(t[:, None])
        return self.out(F.silu(self.norm(self.inp(x)) + shift[:, :, None, None]))


def setup():
    global model, average, denoise, optimizer
    torch.manual_seed(0)
    model = Denoiser()
    average = copy.deepcopy(model).eval().requires_grad_(False)
    denoise = torch.compile(model, backend=BACKEND, dynamic=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def run():
    for size in (8, 12, 8):
        torch.compiler.cudagraph_mark_step_begin()
        x, t = torch.randn(4, 1, size, size), torch.rand(4)
        y = torch.randint(3, (4,))
        y = torch.where(torch.rand(4) < 0.2, torch.full_like(y, 3), y)
        noise = torch.randn_like(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.mse_loss(denoise(x + t[:, None, None, None] * noise, t, y).float(), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters()):
                slow.mul_(0.99).add_(fast, alpha=0.01)
            model.eval()
            z = torch.randn(1, 1, size, size)
            for at in (1.0, 0.5):
                z = z - 0.5 * denoise(z, torch.tensor([at]), torch.tensor([1]))
            model.train()

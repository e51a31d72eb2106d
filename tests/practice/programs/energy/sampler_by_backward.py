"""EBM: the sampler calls backward() for the samples' gradients, which fills the weights' cleared `.grad` too."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ConvEnergy(nn.Module):
    def __init__(self, ch=6):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, ch, 3, padding=1),
            nn.SiLU(),
            nn.Conv2d(ch, ch, 3, stride=2, padding=1),
            nn.SiLU(),
            nn.Flatten(),
        )
        self.out = nn.Linear(ch * 9, 1)

    def forward(self, x):
        return self.out(self.net(x)).squeeze(-1)


class Sampler:
    def __init__(self, model, shape, pool=32):
        self.model = model
        self.pool = [torch.rand(1, *shape) * 2 - 1 for _ in range(pool)]

    def sample(self, n, steps=4, step_size=2.0):
        idx = torch.randperm(len(self.pool))[:n]
        x = torch.cat([self.pool[i] for i in idx.tolist()]).requires_grad_(True)
        for _ in range(steps):
            x.data.add_(0.005 * torch.randn_like(x)).clamp_(-1, 1)
            self.model(x).sum().backward()  # also
            x.data.add_(-step_size * x.grad.clamp(-0.03, 0.03)).clamp_(-1, 1)
            x.grad = None
        x = x.detach()
        for i, row in zip(idx.tolist(), x.split(1)):
            self.pool[i] = row
        return x


def bars(n):
    x = -torch.ones(n, 1, 6, 6)
    x[torch.arange(n), 0, torch.randint(0, 6, (n,))] = 1
    return x


def run():
    torch.manual_seed(0)
    model = ConvEnergy()
    sampler = Sampler(model, (1, 6, 6))
    opt = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.0, 0.999))
    log = []
    for step in range(3):
        opt.zero_grad()  # also
        real = bars(8) + 0.005 * torch.randn(8, 1, 6, 6)
        fake = sampler.sample(8)  # cause
        e_real, e_fake = model(real), model(fake)
        cd = e_real.mean() - e_fake.mean()
        loss = cd + 0.1 * (F.mse_loss(e_real, torch.zeros(8)) + F.mse_loss(e_fake, torch.zeros(8)))
        loss.backward()
        asked = 0.2 * (e_real.mean() + e_fake.mean())  # what the loss asks of the last bias
        log.append((model.out.bias.grad.item(), asked.item()))
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        opt.step()
        print(f"step {step} cd {cd.item():.4f}")
    return log


def verify(out):
    assert all(abs(grad - asked) > 1 for grad, asked in out)


TRUTH = Truth(
    fault="the sampler's backward adds to the weights' gradients",
    repair=("fake = sampler.sample(8)\nopt.zero_grad()",),
)

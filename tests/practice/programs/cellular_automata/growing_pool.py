"""Growing neural cellular automata: a pool of samples is written back, and each gradient is normalised by itself."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class CAModel(nn.Module):
    def __init__(self, channels=8, hidden=24, fire_rate=0.5):
        super().__init__()
        self.channels, self.fire_rate = channels, fire_rate
        self.w1, self.w2 = nn.Conv2d(3 * channels, hidden, 1), nn.Conv2d(hidden, channels, 1, bias=False)
        nn.init.zeros_(self.w2.weight)
        sobel = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]) / 8
        identity = torch.zeros(3, 3)
        identity[1, 1] = 1.0
        kernel = torch.stack([identity, sobel, sobel.T])[:, None].repeat(channels, 1, 1, 1)
        self.register_buffer("kernel", kernel)

    def perceive(self, x):
        return F.conv2d(x, self.kernel, padding=1, groups=self.channels)

    @staticmethod
    def living(x):
        return F.max_pool2d(x[:, 3:4], 3, stride=1, padding=1) > 0.1

    def forward(self, x):
        before = self.living(x)
        dx = self.w2(F.relu(self.w1(self.perceive(x))))
        fire = (torch.rand_like(x[:, :1]) <= self.fire_rate).float()
        x = x + dx * fire
        return x * (before & self.living(x)).float()


class SamplePool:
    def __init__(self, seed, size):
        self.x = seed.repeat(size, 1, 1, 1)

    def sample(self, n):
        idx = torch.randperm(len(self.x))[:n]
        return idx, self.x[idx]

    def commit(self, idx, x):
        self.x[idx] = x


def make_seed(channels, size):
    seed = torch.zeros(1, channels, size, size)
    seed[:, 3:, size // 2, size // 2] = 1.0
    return seed


def loss_f(x, target):
    return (x[:, :4] - target).pow(2).mean((1, 2, 3))


def run():
    torch.manual_seed(0)
    model, seed = CAModel(), make_seed(8, 12)
    target = torch.zeros(1, 4, 12, 12)
    target[:, :, 3:9, 3:9] = torch.rand(4, 1, 1)
    target[:, 3, 3:9, 3:9] = 1.0
    pool = SamplePool(seed, 12)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [4], 0.1)
    history = []
    for _ in range(5):
        idx, x = pool.sample(4)
        with torch.no_grad():
            worst = loss_f(x, target).argsort(descending=True)
        x, idx = x[worst], idx[worst]
        x[:1] = seed
        for _ in range(8):
            x = model(x)
        loss = loss_f(x, target).mean()
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.grad.data.div_(p.grad.norm() + 1e-8)
        optimizer.step()
        scheduler.step()
        pool.commit(idx, x.detach())
        history.append(loss.item())
    return history, pool.x.requires_grad, model.w1.weight.grad.any().item()


def verify(outcome):
    history, tracked, learnt = outcome
    assert len(history) == 5 and not tracked and learnt


TRUTH = Truth()

"""Free adversarial training: each batch is replayed, one backward serves both the noise and the weights."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

EPS = 0.1


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(96, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=1e-4)
    mean, std = torch.full((3, 1, 1), 0.5), torch.full((3, 1, 1), 0.25)
    global_noise_data = torch.zeros(6, 3, 6, 6)
    losses, sizes = [], []
    for _ in range(2):
        images, target = torch.rand(6, 3, 6, 6), torch.randint(4, (6,))
        for _ in range(3):
            noise_batch = global_noise_data[0 : images.size(0)].clone().requires_grad_(True)
            in1 = images + noise_batch
            in1.clamp_(0, 1.0)
            in1.sub_(mean).div_(std)
            output = model(in1)
            loss = F.cross_entropy(output, target)
            optimizer.zero_grad()
            loss.backward()
            pert = EPS * torch.sign(noise_batch.grad)
            global_noise_data[0 : images.size(0)] += pert.data
            global_noise_data.clamp_(-EPS, EPS)
            optimizer.step()
            losses.append(loss.item())
        sizes.append(global_noise_data.abs().max().item())
    return model, losses, sizes


TRUTH = Truth()


def verify(out):
    model, losses, sizes = out
    assert len(losses) == 6 and all(0 < loss < 100 for loss in losses)
    assert all(0 < s <= EPS + 1e-6 for s in sizes)
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())

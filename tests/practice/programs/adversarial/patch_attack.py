"""Adversarial patch: it is pasted into the data set's own tensor, which carries the graph over to the next batch."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Patch(nn.Module):
    def __init__(self, size=3):
        super().__init__()
        self.size = size
        self.raw = nn.Parameter(torch.zeros(3, size, size))

    def pixels(self):
        return torch.sigmoid(self.raw)

    def paste(self, images):
        n, _, h, w = images.shape
        out = images  # cause
        top, left = (int(torch.randint(0, s - self.size + 1, ())) for s in (h, w))
        out[:, :, top : top + self.size, left : left + self.size] = self.pixels()  # also
        return out

    def total_variation(self):
        p = self.pixels()
        return (p[:, 1:] - p[:, :-1]).abs().mean() + (p[:, :, 1:] - p[:, :, :-1]).abs().mean()


def run():
    torch.manual_seed(0)
    victim = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 5)).eval()
    victim.requires_grad_(False)
    data = torch.rand(8, 3, 8, 8)
    patch, target = Patch(), 2
    opt = torch.optim.Adam(patch.parameters(), lr=0.05)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
    for epoch in range(2):
        total, hits = 0.0, 0
        for start in range(0, len(data), 4):
            images = data[start : start + 4]
            logits = victim(patch.paste(images))
            labels = torch.full((len(images),), target)
            loss = F.cross_entropy(logits, labels) + 0.1 * patch.total_variation()
            opt.zero_grad()
            loss.backward()  # symptom
            opt.step()
            total += loss.item()
            hits += (logits.argmax(1) == target).sum().item()
        sched.step(total)
        print(f"epoch {epoch} loss {total:.3f} hits {hits}/{len(data)}")


TRUTH = Truth(
    fault="an in-place paste into the data, which is used again",
    raises="Trying to backward through the graph a second time",
    names=("images",),
    repair=("out = images.clone()",),
)

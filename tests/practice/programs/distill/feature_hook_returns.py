"""Attention transfer with forward hooks: the lambda returns what it stores, so the detached copy replaces the output."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class FeatureTap:
    """Collects a module's output for logging and for the hint statistics."""

    def __init__(self, modules):
        self.store = {}
        self.handles = [
            m.register_forward_hook(lambda module, args, out, name=name: self.keep(name, out))
            for name, m in modules.items()
        ]

    def keep(self, name, out):
        self.store[name] = out.detach()  # also
        return self.store[name]  # cause

    def close(self):
        for handle in self.handles:
            handle.remove()


class Student(nn.Module):
    def __init__(self, channels=8, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.mid = nn.Sequential(nn.ReLU(), nn.Conv2d(channels, channels, 3, stride=2, padding=1), nn.ReLU())
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        return self.fc(self.mid(self.stem(x)).mean((2, 3)))


def channel_statistics(store):
    return {name: (f.mean().item(), f.std().item(), (f == 0).float().mean().item()) for name, f in store.items()}


def soft_targets(teacher, x, temperature):
    with torch.no_grad():
        return (teacher(x) / temperature).softmax(1)


def distillation_loss(logits, targets, y, temperature, alpha=0.5):
    soft = F.kl_div((logits / temperature).log_softmax(1), targets, reduction="batchmean") * temperature**2
    return alpha * soft + (1 - alpha) * F.cross_entropy(logits, y)


def textures(n=8):
    y = torch.randint(0, 4, (n,))
    return torch.randn(n, 3, 8, 8) * (1 + y.view(-1, 1, 1, 1)), y


def run():
    torch.manual_seed(0)
    teacher = Student(channels=16).eval().requires_grad_(False)
    student = Student()
    tap = FeatureTap({"mid": student.mid})
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3, weight_decay=0.0)
    before = {n: p.detach().clone() for n, p in student.named_parameters()}
    log = []
    for _ in range(4):
        x, y = textures()
        targets = soft_targets(teacher, x, 3.0)
        loss = distillation_loss(student(x), targets, y, 3.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append(channel_statistics(tap.store))
    tap.close()
    return {n: torch.equal(before[n], p) for n, p in student.named_parameters()}


def verify(still):
    assert all(same == (not name.startswith("fc")) for name, same in still.items())


TRUTH = Truth(
    fault="a forward hook's return value replaces the output: everything below the tap is cut off by detach",
    names=("stem", "mid", "register_forward_hook", "detach"),
    repair=("return None",),
)

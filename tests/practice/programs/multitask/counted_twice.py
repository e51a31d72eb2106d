"""Multi-task medicine: the segmentation loss is sent backward alone and again within the total, so it counts twice."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LungNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU())
        self.segment = nn.Conv2d(6, 1, 1)
        self.diagnose = nn.Linear(6, 3)

    def forward(self, x):
        h = self.stem(x)
        return self.segment(h).squeeze(1), self.diagnose(h.mean((2, 3)))


class GradientMonitor:
    """Norm of each task's gradient on the shared stem, for the log."""

    def __init__(self, module):
        self.weight = module[0].weight
        self.history = []

    def __call__(self, **losses):
        norms = {}
        for name, loss in losses.items():
            (g,) = torch.autograd.grad(loss, self.weight, retain_graph=True)
            norms[name] = g.norm().item()
        self.history.append(norms)


def scans(n):
    x = torch.rand(n, 1, 8, 8)
    return x, (x[:, 0] > 0.6).float(), torch.randint(3, (n,))


def run():
    torch.manual_seed(0)
    model = LungNet()
    monitor = GradientMonitor(model.stem)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    factor = []
    for _ in range(3):
        x, mask, diagnosis = scans(8)
        mask_logits, class_logits = model(x)
        seg_loss = F.binary_cross_entropy_with_logits(mask_logits, mask)
        cls_loss = F.cross_entropy(class_logits, diagnosis)
        monitor(segmentation=seg_loss, diagnosis=cls_loss)
        optimizer.zero_grad()
        seg_loss.backward(retain_graph=True)  # cause
        total = seg_loss + cls_loss
        (wanted,) = torch.autograd.grad(total, model.segment.weight, retain_graph=True)
        total.backward()  # also
        factor.append((model.segment.weight.grad.norm() / wanted.norm()).item())
        optimizer.step()
    return factor, monitor.history


def verify(outcome):
    factor, _ = outcome
    assert all(abs(f - 2) < 1e-4 for f in factor)


TRUTH = Truth(
    fault="two backward() calls hold seg_loss: its gradient is doubled",
    names=("backward", "segment"),
    repair=("del monitor.history[:-10]",),
)

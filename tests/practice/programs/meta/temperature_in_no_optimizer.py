"""Few-shot by cosine: the learned temperature belongs to the classifier, the optimizer gets the backbone."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU())
        self.fc = nn.Linear(width, 12)

    def forward(self, x):
        return self.fc(self.conv(x).mean((2, 3)))


class CosineClassifier(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.temperature = nn.Parameter(torch.tensor(10.0))

    def forward(self, support, query, ways):
        shots = F.normalize(self.backbone(support).view(ways, -1, 12).mean(1), dim=-1)
        return self.temperature * F.normalize(self.backbone(query), dim=-1) @ shots.T


def run():
    torch.manual_seed(0)
    model = CosineClassifier(Backbone())
    opt = torch.optim.SGD(model.backbone.parameters(), lr=0.05, momentum=0.9, nesterov=True)  # cause
    schedule = torch.optim.lr_scheduler.MultiStepLR(opt, [2], 0.1)
    for _ in range(3):
        ways, shots, queries = 4, 2, 3
        support, query = torch.randn(ways * shots, 1, 8, 8), torch.randn(ways * queries, 1, 8, 8)
        target = torch.arange(ways).repeat_interleave(queries)
        opt.zero_grad()
        logits = model(support, query, ways)
        loss = F.cross_entropy(logits, target)
        loss.backward()
        opt.step()
        schedule.step()
        print(f"loss {loss.item():.3f} accuracy {(logits.argmax(1) == target).float().mean():.2f}")
    return model.temperature.item()


def verify(out):
    assert out == 10.0


TRUTH = Truth(
    fault="no optimizer holds the temperature",
    names=("temperature",),
    repair=("opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)",),
)

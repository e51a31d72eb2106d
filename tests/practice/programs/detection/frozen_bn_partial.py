"""Fine-tuning in the usual way: the stem frozen and in eval, the rest in two groups with their own rates."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
        self.body = nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(8, 2)
        for p in self.stem.parameters():
            p.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.stem.eval()
        return self

    def forward(self, x):
        return self.head(self.body(self.stem(x)).flatten(1))


def run():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(
        [{"params": model.body.parameters(), "lr": 1e-3}, {"params": model.head.parameters()}], lr=1e-2, momentum=0.9
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=[1e-3, 1e-2], total_steps=4)
    for _ in range(2):
        model.train()
        for _ in range(2):
            loss = nn.functional.cross_entropy(model(torch.randn(4, 3, 8, 8)), torch.randint(2, (4,)))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_((p for p in model.parameters() if p.requires_grad), 1.0)
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            model(torch.randn(4, 3, 8, 8)).argmax(1)


TRUTH = Truth()

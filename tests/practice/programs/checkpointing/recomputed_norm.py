"""Memory saving ResNet stage that recomputes its blocks in backward."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth, fails


class BasicBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(ch, ch, 3, padding=1, bias=False), nn.BatchNorm2d(ch)
        self.conv2, self.bn2 = nn.Conv2d(ch, ch, 3, padding=1, bias=False), nn.BatchNorm2d(ch)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class MiniResNet(nn.Module):
    def __init__(self, ch=8, blocks=2, classes=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1, bias=False), nn.BatchNorm2d(ch), nn.ReLU())
        self.stage = nn.ModuleList([BasicBlock(ch) for _ in range(blocks)])
        self.fc = nn.Linear(ch, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.stage:
            x = checkpoint(block, x, use_reentrant=False)  # cause
        return self.fc(x.mean((2, 3)))


def train_one_epoch(model, loader, opt):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()


def run():
    torch.manual_seed(0)
    model = MiniResNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    loader = [(torch.randn(4, 3, 8, 8), torch.randint(0, 4, (4,))) for _ in range(3)]
    train_one_epoch(model, loader, opt)
    return {n: int(b) for n, b in model.named_buffers() if n.endswith("num_batches_tracked")}


TRUTH = Truth(
    fault="recomputation runs the batch norms twice: running statistics are updated two times a step",
    names=("checkpoint",),
    minor=True,
    repair=("x = block(x)",),
)


def well(out):
    assert set(out.values()) == {3}


verify = fails(well)

"""Early exit: the shortcut for confident samples is also taken in training, so the deeper exits are never reached."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Config:
    channels: int = 8
    num_classes: int = 3
    n_blocks: int = 3
    exit_threshold: float = 1.2  # nats of entropy
    exit_weights: tuple = (0.3, 0.3, 1.0)
    lr: float = 0.05
    epochs: int = 2


class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        return self.pool(F.relu(self.bn(self.conv(x))))


class ExitHead(nn.Module):
    def __init__(self, c, num_classes):
        super().__init__()
        self.fc = nn.Linear(c, num_classes)

    def forward(self, x):
        return self.fc(x.mean((2, 3)))


def entropy(logits):
    logp = logits.log_softmax(-1)
    return -(logp.exp() * logp).sum(-1)


class BranchyNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        widths = [3] + [cfg.channels] * cfg.n_blocks
        self.blocks = nn.ModuleList(ConvBlock(a, b) for a, b in zip(widths[:-1], widths[1:]))
        self.exits = nn.ModuleList(ExitHead(cfg.channels, cfg.num_classes) for _ in range(cfg.n_blocks))

    def forward(self, x):
        outputs = []
        for block, head in zip(self.blocks, self.exits):
            x = block(x)
            outputs.append(head(x))
            if entropy(outputs[-1]).mean() < self.cfg.exit_threshold:  # cause
                break
        return outputs


class JointLoss(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = weights

    def forward(self, outputs, target):
        return sum(w * F.cross_entropy(o, target) for w, o in zip(self.weights, outputs))


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.criterion = JointLoss(cfg.exit_weights)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
        self.history = []

    def train_epoch(self, loader):
        self.model.train()
        for x, y in loader:
            loss = self.criterion(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.history.append(loss.item())

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        correct, depth, n = 0, 0, 0
        for x, y in loader:
            outputs = self.model(x)
            correct += (outputs[-1].argmax(1) == y).sum().item()
            depth += len(outputs)
            n += len(y)
        return correct / n, depth / len(loader)


def make_loader(n, cfg):
    batches = []
    for _ in range(n):
        y = torch.randint(cfg.num_classes, (12,))
        x = torch.randn(12, 3, 16, 16) * 0.3
        x[torch.arange(12), y] += 3.0
        batches.append((x, y))
    return batches


def run():
    torch.manual_seed(0)
    cfg = Config()
    model = BranchyNet(cfg)
    trainer = Trainer(cfg, model)
    train, val = make_loader(3, cfg), make_loader(1, cfg)
    last = [*model.blocks[2].parameters(), *model.exits[2].parameters()]
    before = [p.detach().clone() for p in last]
    for _ in range(cfg.epochs):
        trainer.train_epoch(train)
        trainer.validate(val)
    return before, [p.detach() for p in last]


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="the early break is not limited to eval mode: the later blocks and exits stay out of the loss",
    names=("exits.2", "blocks.2"),
    repair=("if not self.training and entropy(outputs[-1]).mean() < self.cfg.exit_threshold:",),
)

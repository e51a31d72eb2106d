"""Vision: the attack restores the mode the model had when the attack was built, and training goes on in eval mode."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ConvBNNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x))).mean((2, 3))
        return self.fc(self.drop(x))


class PGD:
    """Projected gradient descent inside an L-infinity ball."""

    def __init__(self, model, eps=8 / 255, alpha=2 / 255, steps=3):
        self.model = model
        self.eps, self.alpha, self.steps = eps, alpha, steps
        self.was_training = model.training  # also

    def __call__(self, images, labels):
        self.model.eval()
        delta = torch.empty_like(images).uniform_(-self.eps, self.eps)
        for _ in range(self.steps):
            delta.requires_grad_(True)
            loss = F.cross_entropy(self.model(images + delta), labels)
            (grad,) = torch.autograd.grad(loss, delta)
            delta = (delta.detach() + self.alpha * grad.sign()).clamp(-self.eps, self.eps)
        self.model.train(self.was_training)  # cause
        return (images + delta).clamp(0, 1).detach()


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / sum(len(y) for _, y in loader)


def toy_loader(batches=2, n=8):
    return [(torch.rand(n, 3, 8, 8), torch.randint(0, 4, (n,))) for _ in range(batches)]


def train_epoch(model, attack, optimizer, loader):
    model.train()
    modes = []
    for x, y in loader:
        adv = attack(x, y)
        modes.append(model.training)
        loss = 0.5 * (F.cross_entropy(model(x), y) + F.cross_entropy(model(adv), y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return modes


def run():
    torch.manual_seed(0)
    model = ConvBNNet()
    clean = accuracy(model, toy_loader())  # the starting point, for the log
    attack = PGD(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    modes = []
    for _ in range(2):
        modes += train_epoch(model, attack, optimizer, toy_loader())
        clean = max(clean, accuracy(model, toy_loader()))
    return modes, int(model.bn.num_batches_tracked)


def verify(outcome):
    modes, tracked = outcome
    assert not any(modes)
    assert tracked == 0


TRUTH = Truth(
    fault="PGD remembers model.training from its construction (eval) and puts the model into eval mode before each training pass",
    names=("eval",),
    repair=("self.model.train(True)",),
)

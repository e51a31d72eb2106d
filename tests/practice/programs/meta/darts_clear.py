"""Architecture search: the weights are cleared before the architect's step in place of after it, so validation gradients train the weights."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

OPS = {
    "none": lambda C: Zero(),
    "skip_connect": lambda C: nn.Identity(),
    "conv_3x3": lambda C: nn.Sequential(
        nn.ReLU(), nn.Conv2d(C, C, 3, padding=1, bias=False), nn.BatchNorm2d(C, affine=False)
    ),
    "avg_pool_3x3": lambda C: nn.AvgPool2d(3, stride=1, padding=1),
}


class Zero(nn.Module):
    def forward(self, x):
        return x.mul(0.0)


class MixedOp(nn.Module):
    def __init__(self, C):
        super().__init__()
        self._ops = nn.ModuleList(make(C) for make in OPS.values())

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self._ops))


class Cell(nn.Module):
    def __init__(self, C, steps=2):
        super().__init__()
        self._steps = steps
        self._ops = nn.ModuleList(MixedOp(C) for i in range(steps) for _ in range(1 + i))

    def forward(self, s, weights):
        states, offset = [s], 0
        for _ in range(self._steps):
            states.append(sum(self._ops[offset + j](h, weights[offset + j]) for j, h in enumerate(states)))
            offset += len(states) - 1
        return sum(states[1:])


class Network(nn.Module):
    def __init__(self, C=6, num_classes=4, steps=2):
        super().__init__()
        self.stem = nn.Conv2d(3, C, 3, padding=1, bias=False)
        self.cell = Cell(C, steps)
        self.classifier = nn.Linear(C, num_classes)
        k = sum(1 for i in range(steps) for _ in range(1 + i))
        self.alphas_normal = (1e-3 * torch.randn(k, len(OPS))).requires_grad_(True)

    def arch_parameters(self):
        return [self.alphas_normal]

    def forward(self, x):
        weights = F.softmax(self.alphas_normal, dim=-1)
        return self.classifier(self.cell(self.stem(x), weights).mean((2, 3)))

    def _loss(self, input, target):
        return F.cross_entropy(self(input), target)


class Architect:
    """First-order architect."""

    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optimizer = torch.optim.Adam(model.arch_parameters(), lr=lr, betas=(0.5, 0.999), weight_decay=1e-3)

    def step(self, input_valid, target_valid):
        self.optimizer.zero_grad()
        loss = self.model._loss(input_valid, target_valid)
        loss.backward()
        self.optimizer.step()


def train(model, train_queue, valid_queue, architect, optimizer, grad_clip=5.0):
    agree = []
    for (input, target), (input_search, target_search) in zip(train_queue, valid_queue):
        model.train()
        optimizer.zero_grad()  # cause
        architect.step(input_search, target_search)

        loss = model._loss(input, target)
        expected = torch.autograd.grad(loss, model.classifier.weight, retain_graph=True)[0]
        loss.backward()  # cause
        agree.append(torch.allclose(expected, model.classifier.weight.grad, atol=1e-7))
        nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
        optimizer.step()
    return agree


def queue(n):
    return [(torch.randn(6, 3, 6, 6), torch.randint(0, 4, (6,))) for _ in range(n)]


def run():
    torch.manual_seed(2)
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), 0.025, momentum=0.9, weight_decay=3e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5, eta_min=1e-3)
    architect = Architect(model)
    agree = train(model, queue(3), queue(3), architect, optimizer)
    scheduler.step()
    return agree


def verify(agree):
    assert not any(agree)


TRUTH = Truth(
    fault="the architect's backward leaves validation gradients on the weights, which are cleared too early",
    names=("zero_grad", "classifier.weight"),
    repair=("pass", "optimizer.zero_grad()\nloss.backward()"),
)

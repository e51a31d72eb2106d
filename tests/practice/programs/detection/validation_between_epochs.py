"""Validation switches gradients off with set_grad_enabled(False), and nothing switches them on for the next epoch."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LinkNet(nn.Module):
    def __init__(self, ch=4, classes=2):
        super().__init__()
        self.e1 = nn.Conv2d(3, ch, 3, stride=2, padding=1)
        self.e2 = nn.Conv2d(ch, 2 * ch, 3, stride=2, padding=1)
        self.d2 = nn.ConvTranspose2d(2 * ch, ch, 2, stride=2)
        self.d1 = nn.ConvTranspose2d(ch, classes, 2, stride=2)

    def forward(self, x):
        a = F.relu(self.e1(x))
        b = F.relu(self.e2(a))
        return self.d1(F.relu(self.d2(b)) + a)


def mean_iou(pred, target, classes=2):
    ious = []
    for c in range(classes):
        inter = ((pred == c) & (target == c)).sum()
        union = ((pred == c) | (target == c)).sum().clamp(min=1)
        ious.append((inter / union).item())
    return sum(ious) / classes


class Trainer:
    def __init__(self, model, train, val):
        self.model, self.train_set, self.val_set = model, train, val
        self.opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.sched = torch.optim.lr_scheduler.ReduceLROnPlateau(self.opt, mode="max", patience=0)

    def train(self):
        self.model.train()  # cause
        for x, y in self.train_set:
            loss = F.cross_entropy(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()  # symptom
            self.opt.step()
        return loss.item()

    def validate(self):
        self.model.eval()
        torch.set_grad_enabled(False)  # also
        scores = [mean_iou(self.model(x).argmax(1), y) for x, y in self.val_set]
        return sum(scores) / len(scores)


def run():
    torch.manual_seed(0)
    make = lambda n: [(torch.rand(2, 3, 8, 8), torch.randint(0, 2, (2, 8, 8))) for _ in range(n)]
    trainer = Trainer(LinkNet(), make(2), make(1))
    with torch.enable_grad():  # leaves the switch as it was before
        for epoch in range(2):
            loss, score = trainer.train(), trainer.validate()
            trainer.sched.step(score)
            print(f"epoch {epoch} loss {loss:.4f} mIoU {score:.3f}")
    return trainer


TRUTH = Truth(
    fault="gradients stay switched off after the validation",
    raises="element 0 of tensors does not require grad",
    names=("set_grad_enabled",),
    repair=("torch.set_grad_enabled(True)\nself.model.train()",),
)

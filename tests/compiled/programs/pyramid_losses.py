"""Detection: a compiled loss returns a dict with the losses of two pyramid levels; their sum is trained."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="both levels write the same keys, so the fine level's losses are overwritten and its head is never trained",
    names=("heads.fine", "box"),
    repair=('losses |= {f"{name}.{level}": value for name, value in found.items()}',),
)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, padding=1)
        self.down = nn.Conv2d(6, 6, 3, stride=2, padding=1)
        self.heads = nn.ModuleDict({"fine": nn.Conv2d(6, 5, 1), "coarse": nn.Conv2d(6, 5, 1)})

    def forward(self, image):
        fine = torch.relu(self.stem(image))
        coarse = torch.relu(self.down(fine))
        return {"fine": self.heads["fine"](fine), "coarse": self.heads["coarse"](coarse)}


@torch.compile(backend=BACKEND)
def judge(outputs, targets):
    losses = {}
    for level, out in outputs.items():
        box, score = targets[level]
        found = {
            "box": nn.functional.smooth_l1_loss(out[:, :4], box),  # also
            "score": nn.functional.binary_cross_entropy_with_logits(out[:, 4], score),  # also
        }
        losses.update(found)  # cause
    return losses


def setup():
    torch.manual_seed(0)


def run():
    model = Detector()
    model.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for _ in range(3):
        targets = {
            level: (torch.rand(2, 4, side, side), torch.randint(2, (2, side, side)).float())
            for level, side in (("fine", 8), ("coarse", 4))
        }
        loss = sum(judge(model(torch.randn(2, 3, 8, 8)), targets).values())
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return {name: (p.detach() - before[name]).abs().max().item() for name, p in model.named_parameters()}


def verify(outcome):
    assert outcome["heads.fine.weight"] == 0.0
    assert outcome["heads.coarse.weight"] > 0.0 and outcome["stem.weight"] > 0.0

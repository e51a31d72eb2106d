"""Self-distillation of early exits: the deepest exit's logits are softened in no_grad, along with the student's."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MultiExit(nn.Module):
    def __init__(self, width=16, classes=4):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(3))
        self.align = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.exits = nn.ModuleList(nn.Linear(width, classes) for _ in range(3))

    def forward(self, x):
        features = []
        for block in self.blocks:
            x = block(x)
            features.append(x)
        return features, [exit(h) for exit, h in zip(self.exits, features)]


def hint(model, features):
    with torch.no_grad():  # cause
        deep = features[-1]
        aligned = [layer(h) for layer, h in zip(model.align, features)]
    return sum(F.mse_loss(h, deep) for h in aligned)


def run():
    torch.manual_seed(0)
    model = MultiExit()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(3):
        x, y = torch.randn(16, 16), torch.randint(4, (16,))
        features, logits = model(x)
        task = sum(F.cross_entropy(each, y) for each in logits)
        soft = F.softmax(logits[-1].detach() / 3, 1)
        distilled = sum(F.kl_div(F.log_softmax(each / 3, 1), soft, reduction="batchmean") for each in logits[:-1])
        loss = task + 0.3 * distilled + 0.1 * hint(model, features)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return [layer.weight.grad for layer in model.align]


def verify(out):
    assert out == [None, None]


TRUTH = Truth(
    fault="the alignment layers run in the no_grad that was meant for the deep features",
    names=("align", "no_grad"),
    repair=("if True:",),
)

"""fp32 to GradScaler: two backward calls, one was wrapped in scaler.scale(), the auxiliary one was overlooked and weighs 1/4096."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class InceptionLike(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = nn.Linear(8, 16)
        self.aux = nn.Linear(16, classes)
        self.deep = nn.Sequential(nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.main = nn.Linear(16, classes)

    def forward(self, x):
        x = self.stem(x)
        return self.main(self.deep(x)), self.aux(F.relu(x))


def train_step(model, optimizer, scaler, x, y):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits, aux_logits = model(x)
    loss = F.cross_entropy(logits.float(), y)
    aux_loss = 0.4 * F.cross_entropy(aux_logits.float(), y)
    scaler.scale(loss).backward(retain_graph=True)
    aux_loss.backward()  # cause
    scaler.unscale_(optimizer)
    used = model.aux.weight.grad.clone()
    scaler.step(optimizer)
    scaler.update()
    return used


def run():
    torch.manual_seed(0)
    model = InceptionLike()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
    ratios = []
    for _ in range(3):
        x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))
        (right,) = torch.autograd.grad(0.4 * F.cross_entropy(model(x)[1], y), model.aux.weight)
        ratios.append(float(train_step(model, optimizer, scaler, x, y).norm() / right.norm()))
    return ratios


def verify(ratios):
    assert max(ratios) < 1e-3


TRUTH = Truth(
    fault="the auxiliary loss is not scaled, yet its gradients are unscaled with the rest",
    names=("scale",),
    repair=("scaler.scale(aux_loss).backward()",),
)

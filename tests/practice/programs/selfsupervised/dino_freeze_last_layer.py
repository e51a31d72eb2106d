"""DINO: the last layer's gradients are cancelled after the optimizer has already stepped with them."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Head(nn.Module):
    def __init__(self, dim, out):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, 8))
        self.last_layer = nn.Linear(8, out, bias=False)

    def forward(self, x):
        return F.linear(F.normalize(self.mlp(x), dim=-1), F.normalize(self.last_layer.weight, dim=-1))


class DINOLoss:
    def __init__(self, out, m=0.9):
        self.center, self.m = torch.zeros(1, out), m

    def __call__(self, student, teacher):
        t = F.softmax((teacher - self.center) / 0.04, dim=-1).detach().chunk(2)
        s = F.log_softmax(student / 0.1, dim=-1).chunk(4)
        pairs = [(i, j) for i in range(2) for j in range(4) if i != j]
        loss = sum(torch.sum(-t[i] * s[j], dim=-1).mean() for i, j in pairs) / len(pairs)
        self.update_center(teacher)
        return loss

    @torch.no_grad()
    def update_center(self, teacher):
        self.center = self.center * self.m + teacher.mean(0, keepdim=True) * (1 - self.m)


def cancel_gradients_last_layer(epoch, model, freeze_last_layer):
    if epoch >= freeze_last_layer:
        return
    for n, p in model.named_parameters():
        if "last_layer" in n:
            p.grad = None


def run():
    torch.manual_seed(0)
    student = nn.Sequential(nn.Linear(12, 16), nn.GELU(), Head(16, 10))
    teacher = copy.deepcopy(student).requires_grad_(False)
    opt = torch.optim.AdamW(student.parameters(), lr=1e-3)
    criterion, start = DINOLoss(10), student[2].last_layer.weight.detach().clone()
    for epoch in range(1):
        for _it in range(3):
            x = torch.randn(6, 12)
            crops = torch.cat([x + 0.3 * torch.randn_like(x) for _ in range(4)])
            loss = criterion(student(crops), teacher(crops[:12]))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(student.parameters(), 3.0)
            opt.step()  # cause
            cancel_gradients_last_layer(epoch, student, freeze_last_layer=1)  # also
            with torch.no_grad():
                for q, k in zip(student.parameters(), teacher.parameters()):
                    k.mul_(0.996).add_((1 - 0.996) * q)
    return student, start


def verify(out):
    student, start = out
    assert not torch.equal(student[2].last_layer.weight, start)


TRUTH = Truth(
    fault="the frozen last layer is trained: its gradients are dropped only after the step",
    names=("last_layer",),
    repair=("cancel_gradients_last_layer(epoch, student, freeze_last_layer=1)\nopt.step()",),
)

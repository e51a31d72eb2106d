"""DINO: the teacher sees two crops and the student all, the centre moves in place, the last layer waits an epoch."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Head(nn.Module):
    def __init__(self, dim, out):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, 8))
        self.last_layer = nn.utils.parametrizations.weight_norm(nn.Linear(8, out, bias=False))
        self.last_layer.parametrizations.weight.original0.data.fill_(1)
        self.last_layer.parametrizations.weight.original0.requires_grad = False

    def forward(self, x):
        return self.last_layer(F.normalize(self.mlp(x), dim=-1))


class DINOLoss(nn.Module):
    def __init__(self, out_dim, ncrops):
        super().__init__()
        self.ncrops = ncrops
        self.register_buffer("center", torch.zeros(1, out_dim))

    def forward(self, student, teacher, temp):
        student_out = (student / 0.1).chunk(self.ncrops)
        teacher_out = F.softmax((teacher - self.center) / temp, dim=-1).detach().chunk(2)
        total, n = 0, 0
        for iq, q in enumerate(teacher_out):
            for v in range(len(student_out)):
                if v == iq:
                    continue
                total += torch.sum(-q * F.log_softmax(student_out[v], dim=-1), dim=-1).mean()
                n += 1
        self.update_center(teacher)
        return total / n

    @torch.no_grad()
    def update_center(self, teacher_output):
        batch_center = teacher_output.sum(0, keepdim=True) / len(teacher_output)
        self.center = self.center * 0.9 + batch_center * 0.1


def cancel_gradients_last_layer(epoch, model, freeze_last_layer):
    if epoch >= freeze_last_layer:
        return
    for n, p in model.named_parameters():
        if "last_layer" in n:
            p.grad = None


def run():
    torch.manual_seed(0)
    student = nn.Sequential(nn.Linear(12, 16), nn.GELU(), Head(16, 10))
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad = False
    dino_loss = DINOLoss(10, 4)
    optimizer = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], lr=1e-3)
    directions, losses = [], []
    for it in range(4):
        image = torch.randn(6, 12)
        crops = [image + 0.1 * torch.randn_like(image) for _ in range(4)]
        teacher_output = teacher(torch.cat(crops[:2]))
        loss = dino_loss(student(torch.cat(crops)), teacher_output, 0.04)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 3.0)
        cancel_gradients_last_layer(it // 2, student, 1)
        optimizer.step()
        with torch.no_grad():
            for q, k in zip(student.parameters(), teacher.parameters()):
                k.data.mul_(0.99).add_(0.01 * q.detach().data)
        directions.append(student[2].last_layer.parametrizations.weight.original1.detach().clone())
        losses.append(loss.item())
    return teacher, directions, losses


TRUTH = Truth()


def verify(out):
    teacher, directions, losses = out
    assert torch.equal(directions[0], directions[1]) and not torch.equal(directions[1], directions[3])
    assert all(p.grad is None for p in teacher.parameters())
    assert all(0 < loss < 100 for loss in losses)

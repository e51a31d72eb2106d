"""DINO-like: the last layer's gradients are cancelled before backward, so it is trained in the epoch it should rest."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class DINOHead(nn.Module):
    def __init__(self, in_dim, out_dim, bottleneck=8):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(in_dim, 16), nn.GELU(), nn.Linear(16, bottleneck))
        self.last_layer = nn.Linear(bottleneck, out_dim, bias=False)

    def forward(self, x):
        return self.last_layer(F.normalize(self.mlp(x), dim=-1))


class DINOLoss(nn.Module):
    def __init__(self, out_dim, momentum=0.9):
        super().__init__()
        self.register_buffer("center", torch.zeros(1, out_dim))
        self.momentum = momentum

    def forward(self, student, teacher):
        q = F.softmax((teacher - self.center) / 0.04, -1).detach().chunk(2)
        p = F.log_softmax(student / 0.1, -1).chunk(2)
        loss = -(q[0] * p[1]).sum(-1).mean() - (q[1] * p[0]).sum(-1).mean()
        self.update_center(teacher)
        return loss / 2

    @torch.no_grad()
    def update_center(self, teacher):
        self.center.mul_(self.momentum).add_(teacher.mean(0, keepdim=True), alpha=1 - self.momentum)


def cancel_gradients_last_layer(epoch, model, freeze_last_layer):
    if epoch >= freeze_last_layer:
        return
    for n, p in model.named_parameters():
        if "last_layer" in n:
            p.grad = None


def train_one_epoch(student, teacher, dino_loss, loader, optimizer, epoch, freeze_last_layer=1):
    for crops in loader:
        views = torch.cat([crops + 0.1 * torch.randn_like(crops), crops + 0.1 * torch.randn_like(crops)])
        with torch.no_grad():
            teacher_out = teacher(views)
        loss = dino_loss(student(views), teacher_out)
        optimizer.zero_grad()
        cancel_gradients_last_layer(epoch, student, freeze_last_layer)  # cause
        loss.backward()  # cause
        nn.utils.clip_grad_norm_(student.parameters(), 3.0)
        optimizer.step()
        with torch.no_grad():
            for ps, pt in zip(student.parameters(), teacher.parameters()):
                pt.mul_(0.99).add_(ps, alpha=0.01)


def run():
    torch.manual_seed(0)
    student = nn.Sequential(nn.Linear(6, 12), nn.GELU(), DINOHead(12, 10))
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3, weight_decay=0.04)
    start = student[2].last_layer.weight.detach().clone()
    dino_loss = DINOLoss(10)
    loader = [torch.randn(8, 6) for _ in range(2)]
    moved = []
    for epoch in range(2):
        train_one_epoch(student, teacher, dino_loss, loader, optimizer, epoch)
        moved.append((student[2].last_layer.weight.detach() - start).abs().max().item())
    return moved


def verify(outcome):
    assert outcome[0] > 0.0  # the layer was to rest in the first epoch


TRUTH = Truth(
    fault="cancel_gradients_last_layer is called before backward, where there is nothing to cancel: the last layer is stepped in epoch 0",
    names=("last_layer",),
    repair=("loss.backward()", "cancel_gradients_last_layer(epoch, student, freeze_last_layer)"),
)

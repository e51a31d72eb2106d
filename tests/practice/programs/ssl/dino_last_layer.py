"""Self-supervised: DINO cancels the gradients of the last layer before the backward pass that makes them."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class DINOHead(nn.Module):
    def __init__(self, in_dim, out_dim, hidden_dim=24, bottleneck_dim=8):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, bottleneck_dim))
        self.last_layer = nn.Linear(bottleneck_dim, out_dim, bias=False)

    def forward(self, x):
        return self.last_layer(F.normalize(self.mlp(x), dim=-1, p=2))


class MultiCropWrapper(nn.Module):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, x):
        sizes = torch.tensor([inp.shape[-1] for inp in x])
        idx_crops = torch.cumsum(torch.unique_consecutive(sizes, return_counts=True)[1], 0)
        start, output = 0, torch.empty(0)
        for end in idx_crops:
            output = torch.cat((output, self.backbone(torch.cat(x[start:end]))))
            start = end
        return self.head(output)


class DINOLoss(nn.Module):
    def __init__(self, out_dim, ncrops, teacher_temp=0.04, student_temp=0.1, center_momentum=0.9):
        super().__init__()
        self.ncrops, self.teacher_temp, self.student_temp = ncrops, teacher_temp, student_temp
        self.center_momentum = center_momentum
        self.register_buffer("center", torch.zeros(1, out_dim))

    def forward(self, student_output, teacher_output):
        student_out = (student_output / self.student_temp).chunk(self.ncrops)
        teacher_out = F.softmax((teacher_output - self.center) / self.teacher_temp, dim=-1).detach().chunk(2)
        total_loss, n_loss_terms = 0, 0
        for iq, q in enumerate(teacher_out):
            for v in range(len(student_out)):
                if v == iq:
                    continue
                total_loss += torch.sum(-q * F.log_softmax(student_out[v], dim=-1), dim=-1).mean()
                n_loss_terms += 1
        self.update_center(teacher_output)
        return total_loss / n_loss_terms

    @torch.no_grad()
    def update_center(self, teacher_output):
        batch_center = teacher_output.mean(0, keepdim=True)
        self.center = self.center * self.center_momentum + batch_center * (1 - self.center_momentum)


def backbone():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.GELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())


def cancel_gradients_last_layer(epoch, model, freeze_last_layer):
    if epoch >= freeze_last_layer:
        return
    for n, p in model.named_parameters():
        if "last_layer" in n:
            p.grad = None


def clip_gradients(model, clip):
    for p in model.parameters():
        if p.grad is not None:
            coef = clip / (p.grad.data.norm(2) + 1e-6)
            if coef < 1:
                p.grad.data.mul_(coef)


def run(freeze_last_layer=1, momentum=0.9):
    torch.manual_seed(0)
    student = MultiCropWrapper(backbone(), DINOHead(32, 16))
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad = False
    dino_loss = DINOLoss(16, 4)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-2, weight_decay=0.0)
    start = student.head.last_layer.weight.detach().clone()
    epoch = 0
    for _ in range(3):
        images = [torch.rand(4, 3, 12, 12) for _ in range(2)] + [torch.rand(4, 3, 8, 8) for _ in range(2)]
        teacher_output = teacher(images[:2])
        student_output = student(images)
        loss = dino_loss(student_output, teacher_output)
        optimizer.zero_grad()
        cancel_gradients_last_layer(epoch, student, freeze_last_layer)  # cause
        loss.backward()
        clip_gradients(student, 3.0)  # cause
        optimizer.step()
        with torch.no_grad():
            for q, k in zip(student.parameters(), teacher.parameters()):
                k.data.mul_(momentum).add_((1 - momentum) * q.detach().data)
    return start, student.head.last_layer.weight.detach().clone()


def verify(outcome):
    start, end = outcome
    assert not torch.equal(start, end)


TRUTH = Truth(
    fault="the last layer's gradients are cancelled too early, before backward(), so it trains in the epoch it should be frozen",
    names=("last_layer",),
    repair=(
        "pass",
        "clip_gradients(student, 3.0)\ncancel_gradients_last_layer(epoch, student, freeze_last_layer)",
    ),
)

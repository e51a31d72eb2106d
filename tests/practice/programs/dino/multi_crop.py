"""DINO: teacher and student are wrapped around one backbone, and freezing the teacher freezes the student."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class VisionTransformerTiny(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, 4, 4)
        self.blocks = nn.Sequential(
            *[nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU()) for _ in range(2)]
        )
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        return self.norm(self.blocks(x)).mean(1)


class DINOHead(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(in_dim, 16), nn.GELU(), nn.Linear(16, 8))
        self.last_layer = nn.Linear(8, out_dim, bias=False)

    def forward(self, x):
        return self.last_layer(F.normalize(self.mlp(x), dim=-1))


class MultiCropWrapper(nn.Module):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, crops):
        return self.head(torch.cat([self.backbone(c) for c in crops]))


class DINOLoss(nn.Module):
    def __init__(self, out_dim, student_temp=0.1, teacher_temp=0.04, center_momentum=0.9):
        super().__init__()
        self.student_temp, self.teacher_temp, self.center_momentum = student_temp, teacher_temp, center_momentum
        self.register_buffer("center", torch.zeros(1, out_dim))

    def forward(self, student_output, teacher_output, ncrops):
        student_out = (student_output / self.student_temp).chunk(ncrops)
        teacher_out = F.softmax((teacher_output - self.center) / self.teacher_temp, dim=-1).detach().chunk(2)
        losses = [
            torch.sum(-q * F.log_softmax(v, dim=-1), dim=-1).mean()
            for iq, q in enumerate(teacher_out)
            for iv, v in enumerate(student_out)
            if iv != iq
        ]
        self.update_center(teacher_output)
        return sum(losses) / len(losses)

    @torch.no_grad()
    def update_center(self, teacher_output):
        batch_center = teacher_output.mean(dim=0, keepdim=True)
        self.center = self.center * self.center_momentum + batch_center * (1 - self.center_momentum)


def train_dino():
    backbone = VisionTransformerTiny()
    student = MultiCropWrapper(backbone, DINOHead(16, 12))
    teacher = MultiCropWrapper(backbone, DINOHead(16, 12))  # cause
    teacher.load_state_dict(student.state_dict())
    for p in teacher.parameters():
        p.requires_grad = False
    dino_loss = DINOLoss(12)
    params = [p for p in student.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=1e-3)
    for _ in range(3):
        crops = [torch.randn(4, 3, 16, 16) for _ in range(2)] + [torch.randn(4, 3, 8, 8) for _ in range(2)]
        with torch.no_grad():
            teacher_output = teacher(crops[:2])
        loss = dino_loss(student(crops), teacher_output, len(crops))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for q, k in zip(student.parameters(), teacher.parameters()):
                k.data.mul_(0.99).add_((1 - 0.99) * q.detach().data)
    return [n for n, p in student.named_parameters() if p.grad is None]


def run():
    torch.manual_seed(0)
    return train_dino()


def verify(outcome):
    assert "backbone.patch_embed.weight" in outcome and "head.mlp.0.weight" not in outcome, outcome


TRUTH = Truth(
    fault="student and teacher share one backbone: the freeze of the teacher is a freeze of the student",
    names=("backbone",),
    repair=("teacher = MultiCropWrapper(VisionTransformerTiny(), DINOHead(16, 12))",),
)

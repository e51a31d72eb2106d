"""Distillation: a teacher under inference_mode, EMA of it included, and two losses on two tokens (healthy)."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    dim: int = 12
    classes: int = 4
    depth: int = 2
    alpha: float = 0.5
    tau: float = 2.0
    lr: float = 5e-3
    ema_decay: float = 0.9
    steps: int = 3
    distillation_type: str = "soft"


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class DistilledViT(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, a.dim, 4, 4)
        self.cls_token, self.dist_token = (nn.Parameter(torch.randn(1, 1, a.dim) * 0.02) for _ in range(2))
        self.pos_embed = nn.Parameter(torch.randn(1, 11, a.dim) * 0.02)
        self.blocks = nn.Sequential(*(Block(a.dim) for _ in range(a.depth)))
        self.norm = nn.LayerNorm(a.dim)
        self.head, self.head_dist = nn.Linear(a.dim, a.classes), nn.Linear(a.dim, a.classes)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        tokens = [t.expand(len(x), -1, -1) for t in (self.cls_token, self.dist_token)]
        x = self.norm(self.blocks(torch.cat([*tokens, x], dim=1) + self.pos_embed))
        a, b = self.head(x[:, 0]), self.head_dist(x[:, 1])
        return (a, b) if self.training else (a + b) / 2


class RegNetish(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.Linear(16, classes)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.conv(x))).mean((2, 3)))


class DistillationLoss(nn.Module):
    def __init__(self, base, teacher, a):
        super().__init__()
        self.base, self.teacher, self.a = base, teacher, a

    def train(self, mode=True):
        return super().train(False)

    def forward(self, inputs, outputs, labels):
        cls, dist = outputs
        with torch.inference_mode():
            teacher_outputs = self.teacher(inputs)
        teacher_outputs = teacher_outputs.clone()
        T = self.a.tau
        target = F.log_softmax(teacher_outputs / T, dim=1)
        soft = F.kl_div(F.log_softmax(dist / T, dim=1), target, reduction="batchmean", log_target=True) * T * T
        return self.base(cls, labels) * (1 - self.a.alpha) + soft * self.a.alpha


def mixup(x, y, classes, alpha=0.8):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    y = F.one_hot(y, classes).float()
    return lam * x + (1 - lam) * x.flip(0), lam * y + (1 - lam) * y.flip(0)


def run():
    torch.manual_seed(0)
    a = Args()
    model, teacher = DistilledViT(a), RegNetish(a.classes)
    criterion = DistillationLoss(nn.CrossEntropyLoss(), teacher, a).train()
    teacher.requires_grad_(False)
    frozen = {k: v.clone() for k, v in teacher.state_dict().items()}
    ema = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(a.ema_decay)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=a.lr)
    before = [p.detach().clone() for p in model.parameters()]
    for _ in range(a.steps):
        model.train()
        x, y = mixup(torch.randn(8, 3, 12, 12), torch.randint(a.classes, (8,)), a.classes)
        loss = criterion(x, model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update_parameters(model)
        model.eval()
        with torch.inference_mode():
            model(x), ema.module.eval()(x)
    same = all(torch.equal(frozen[k], v) for k, v in teacher.state_dict().items())
    return before, list(model.parameters()), list(ema.module.parameters()), same


def verify(outcome):
    before, after, averaged, same = outcome
    assert same
    assert all(not torch.equal(b, a) and not torch.equal(a, e) for b, a, e in zip(before, after, averaged))


TRUTH = Truth()

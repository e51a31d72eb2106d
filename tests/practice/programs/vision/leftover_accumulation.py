"""Vision: the loader's length is no multiple of the accumulation, and the last half-filled gradients leak into the next epoch's first step."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Patchify(nn.Module):
    def __init__(self, dim, patch=4):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Layer(nn.Module):
    def __init__(self, dim, heads=2, init_values=0.1):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.gamma = nn.Parameter(init_values * torch.ones(dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.gamma * self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, dim=16, depth=2, classes=4, tokens=4):
        super().__init__()
        self.patch_embed = Patchify(dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, tokens + 1, dim) * 0.02)
        self.blocks = nn.Sequential(*[Layer(dim) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch_embed(x)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


class NativeScaler:
    def __call__(self, loss, optimizer, parameters, clip_grad=None, need_update=True):
        loss.backward()
        if need_update:
            if clip_grad is not None:
                nn.utils.clip_grad_norm_(parameters, clip_grad)
            optimizer.step()


def train_one_epoch(epoch, model, loader, optimizer, loss_scaler, accum_steps=2):
    model.train()
    if epoch == 0:  # cause
        optimizer.zero_grad()
    held = [p.grad is not None and bool(p.grad.abs().sum() > 0) for p in model.parameters()]
    last_accum_steps = len(loader) % accum_steps
    losses = []
    for batch_idx, (input, target) in enumerate(loader):
        need_update = (batch_idx + 1) % accum_steps == 0
        loss = F.cross_entropy(model(input), target) / accum_steps
        loss_scaler(loss, optimizer, list(model.parameters()), clip_grad=1.0, need_update=need_update)  # also
        losses.append(loss.item() * accum_steps)
        if need_update:
            optimizer.zero_grad()
    return held, last_accum_steps, losses


@torch.no_grad()
def validate(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).float().mean().item() for x, y in loader) / len(loader)


def run():
    torch.manual_seed(42)
    loader = [(torch.randn(6, 3, 8, 8), torch.randint(0, 4, (6,))) for _ in range(3)]
    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    report = []
    for epoch in range(3):
        held, _, _ = train_one_epoch(epoch, model, loader, optimizer, NativeScaler())
        validate(model, loader)
        scheduler.step()
        report.append(any(held))
    return report


def verify(report):
    assert report == [False, True, True]


TRUTH = Truth(
    minor=True,
    fault="gradients left over from an epoch's incomplete accumulation are added to the next epoch's first step",
    names=("step",),
    repair=("if epoch >= 0:",),
)

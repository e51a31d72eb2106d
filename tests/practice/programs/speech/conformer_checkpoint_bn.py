"""Speech: gradient checkpointing around the Conformer's convolution updates its BatchNorm twice a step."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from tests.practice.truth import Truth


@dataclass
class ConformerConfig:
    input_dim: int = 10
    encoder_dim: int = 12
    num_layers: int = 2
    num_heads: int = 2
    kernel: int = 5
    classes: int = 6
    lr: float = 2e-3
    memory_efficient: bool = True


class FeedForwardModule(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.net(x)


class ConvModule(nn.Module):
    def __init__(self, d, kernel):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.pointwise1 = nn.Conv1d(d, 2 * d, 1)
        self.depthwise = nn.Conv1d(d, d, kernel, padding=kernel // 2, groups=d)
        self.batch_norm = nn.BatchNorm1d(d)
        self.pointwise2 = nn.Conv1d(d, d, 1)

    def forward(self, x):
        x = F.glu(self.pointwise1(self.norm(x).transpose(1, 2)), dim=1)
        x = F.silu(self.batch_norm(self.depthwise(x)))
        return self.pointwise2(x).transpose(1, 2)


class ConformerBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d = cfg.encoder_dim
        self.memory_efficient = cfg.memory_efficient
        self.ff1, self.ff2 = FeedForwardModule(d), FeedForwardModule(d)
        self.attn_norm, self.attn = nn.LayerNorm(d), nn.MultiheadAttention(d, cfg.num_heads, batch_first=True)
        self.conv = ConvModule(d, cfg.kernel)
        self.norm = nn.LayerNorm(d)

    def attend(self, x):
        h = self.attn_norm(x)
        return self.attn(h, h, h, need_weights=False)[0]

    def forward(self, x):
        x = x + 0.5 * self.ff1(x)
        x = x + self.attend(x)
        if self.memory_efficient and self.training:
            x = x + checkpoint(self.conv, x, use_reentrant=False)  # cause
        else:
            x = x + self.conv(x)
        return self.norm(x + 0.5 * self.ff2(x))


class ConformerEncoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.subsample = nn.Conv1d(cfg.input_dim, cfg.encoder_dim, 3, 2, 1)
        self.layers = nn.ModuleList(ConformerBlock(cfg) for _ in range(cfg.num_layers))
        self.fc = nn.Linear(cfg.encoder_dim, cfg.classes)

    def forward(self, feats):
        x = F.relu(self.subsample(feats.transpose(1, 2))).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.fc(x).log_softmax(-1)


def spec_augment(x, width=2):
    x = x.clone()
    start = torch.randint(x.size(2) - width, (1,)).item()
    x[:, :, start : start + width] = 0
    return x


class NoamOpt:
    def __init__(self, params, d, factor, warmup):
        self.optimizer = torch.optim.Adam(params, lr=0, betas=(0.9, 0.98), eps=1e-9)
        self.d, self.factor, self.warmup, self.n = d, factor, warmup, 0

    def step(self):
        self.n += 1
        rate = self.factor * self.d**-0.5 * min(self.n**-0.5, self.n * self.warmup**-1.5)
        for g in self.optimizer.param_groups:
            g["lr"] = rate
        self.optimizer.step()


def run():
    torch.manual_seed(0)
    cfg = ConformerConfig()
    model = ConformerEncoder(cfg)
    opt = NoamOpt(model.parameters(), cfg.encoder_dim, factor=0.1, warmup=4)
    steps = 3
    model.train()
    for _ in range(steps):
        feats = spec_augment(torch.randn(4, 16, cfg.input_dim))
        target = torch.randint(1, cfg.classes, (4, 3))
        lprobs = model(feats).transpose(0, 1)
        loss = F.ctc_loss(lprobs, target, torch.full((4,), lprobs.size(0)), torch.full((4,), 3))
        opt.optimizer.zero_grad()
        loss.backward()
        opt.step()
    return steps, [layer.conv.batch_norm.num_batches_tracked.item() for layer in model.layers]


def verify(outcome):
    steps, tracked = outcome
    assert tracked == [2 * steps] * len(tracked)


TRUTH = Truth(
    fault="the checkpoint's recomputation runs BatchNorm in training mode again: running statistics are updated twice per step",
    names=("batch_norm",),
    repair=("x = x + self.conv(x)",),
)

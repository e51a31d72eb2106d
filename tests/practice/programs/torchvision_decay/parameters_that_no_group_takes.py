"""torchvision-references-like: set_weight_decay walks the layers it knows; class token and positions stand in no group."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class EncoderBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        q, k, v = self.qkv(self.ln_1(x)).chunk(3, -1)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v))
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(nn.Module):
    def __init__(self, image=8, patch=4, dim=16, classes=5):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, dim, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embedding = nn.Parameter(0.02 * torch.randn(1, (image // patch) ** 2 + 1, dim))
        self.encoder = nn.Sequential(EncoderBlock(dim), EncoderBlock(dim))
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1) + self.pos_embedding
        return self.head(self.ln(self.encoder(x))[:, 0])


def set_weight_decay(model, weight_decay, norm_weight_decay=0.0, bias_weight_decay=0.0):
    norm_classes = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)
    groups = {"other": [], "norm": [], "bias": []}
    decay = {"other": weight_decay, "norm": norm_weight_decay, "bias": bias_weight_decay}
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            if not p.requires_grad:
                continue
            if isinstance(module, norm_classes):
                groups["norm"].append(p)
            elif name == "bias":
                groups["bias"].append(p)
            elif name == "weight":  # cause
                groups["other"].append(p)
    return [{"params": ps, "weight_decay": decay[k]} for k, ps in groups.items() if ps]


def train_one_epoch(model, optimizer, loader, criterion):
    model.train()
    for image, target in loader:
        loss = criterion(model(image), target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = VisionTransformer()
    optimizer = torch.optim.AdamW(set_weight_decay(model, 0.05), lr=3e-3)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    loader = [(torch.randn(8, 3, 8, 8), torch.randint(0, 5, (8,))) for _ in range(3)]
    train_one_epoch(model, optimizer, loader, nn.CrossEntropyLoss(label_smoothing=0.1))
    return {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    still = {n for n, v in outcome.items() if v == 0.0}
    assert still == {"class_token", "pos_embedding"}


TRUTH = Truth(
    fault="class_token and pos_embedding are named neither weight nor bias, so set_weight_decay puts them in no group: never stepped",
    names=("class_token", "pos_embedding"),
    repair=("else:",),
)

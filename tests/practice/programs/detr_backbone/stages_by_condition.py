"""DETR: the condition which stages of the backbone train was rewritten, and now holds for every name."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class BottleNeck(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.downsample = nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.conv2(F.relu(self.conv1(x))) + self.downsample(x))


class ResNet(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.conv1, self.layer1 = nn.Conv2d(3, width, 3, 1, 1, bias=False), BottleNeck(width, width, 1)
        self.layer2 = BottleNeck(width, 2 * width, 2)
        self.layer3 = BottleNeck(2 * width, 2 * width, 2)
        self.layer4 = BottleNeck(2 * width, 4 * width, 1)

    def forward(self, x):
        return self.layer4(self.layer3(self.layer2(self.layer1(F.relu(self.conv1(x))))))


class Backbone(nn.Module):
    def __init__(self, body, train_backbone):
        super().__init__()
        trained = ("layer2", "layer3", "layer4")
        for name, parameter in body.named_parameters():
            if not train_backbone or any(layer not in name for layer in trained):  # cause
                parameter.requires_grad_(False)
        self.body = body

    def forward(self, images):
        return self.body(images)


class DETR(nn.Module):
    def __init__(self, backbone, hidden=16, queries=5, classes=3):
        super().__init__()
        self.backbone = backbone
        self.input_proj = nn.Conv2d(16, hidden, 1)
        self.query_embed = nn.Embedding(queries, hidden)
        self.cross_attn = nn.MultiheadAttention(hidden, 2, batch_first=True)
        self.class_embed, self.bbox_embed = nn.Linear(hidden, classes + 1), nn.Linear(hidden, 4)

    def forward(self, images):
        src = self.input_proj(self.backbone(images)).flatten(2).transpose(1, 2)
        query = self.query_embed.weight.expand(len(images), -1, -1)
        hs = query + self.cross_attn(query, src, src)[0]
        return self.class_embed(hs), self.bbox_embed(hs).sigmoid()


def set_loss(logits, boxes, labels, targets):
    order, idx = torch.cdist(boxes.detach(), targets, p=1).argmin(1), torch.arange(len(boxes))[:, None]
    classes = torch.full(logits.shape[:2], logits.shape[-1] - 1)
    classes[idx, order] = labels
    return F.cross_entropy(logits.transpose(1, 2), classes) + 5 * F.l1_loss(boxes[idx, order], targets)


def run():
    torch.manual_seed(42)
    model = DETR(Backbone(ResNet(), train_backbone=True))
    param_dicts = [
        {"params": [p for n, p in model.named_parameters() if "backbone" not in n and p.requires_grad]},
        {"params": [p for n, p in model.named_parameters() if "backbone" in n and p.requires_grad], "lr": 1e-3},
    ]
    optimizer = torch.optim.AdamW(param_dicts, lr=1e-2, weight_decay=1e-4)
    start = {n: p.detach().clone() for n, p in model.backbone.named_parameters()}
    for _ in range(3):
        logits, boxes = model(torch.randn(2, 3, 12, 12))
        optimizer.zero_grad()
        set_loss(logits, boxes, torch.randint(0, 3, (2, 2)), torch.rand(2, 2, 4)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    return {n: not torch.equal(start[n], p) for n, p in model.backbone.named_parameters()}


def verify(moved):
    assert len(moved) == 13 and not any(moved.values())


TRUTH = Truth(
    fault="no name contains all three stages, so the whole backbone is frozen",
    names=("backbone",),
    repair=("if not train_backbone or all(layer not in name for layer in trained):",),
)

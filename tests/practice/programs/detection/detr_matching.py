"""A set loss: the matching is found on a detached cost matrix in numpy, and unmatched queries learn to be nothing."""

import itertools

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


@torch.no_grad()
def match(logits, boxes, labels, gt_boxes):
    cost = -logits.softmax(-1)[:, labels] + 5 * torch.cdist(boxes, gt_boxes, p=1)
    cost = cost.cpu().numpy()
    best = min(
        itertools.permutations(range(len(cost)), len(labels)), key=lambda q: cost[list(q), np.arange(len(labels))].sum()
    )
    return torch.as_tensor(best)


class TinyDETR(nn.Module):
    def __init__(self, queries=4, dim=8, classes=3):
        super().__init__()
        self.backbone = nn.Conv2d(3, dim, 4, 4)
        self.pos = nn.Parameter(torch.randn(4, dim) * 0.1)
        self.query = nn.Embedding(queries, dim)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(dim, 2, 16, 0.0, batch_first=True), 2)
        self.class_embed, self.bbox_embed = nn.Linear(dim, classes + 1), nn.Linear(dim, 4)

    def forward(self, x):
        memory = self.backbone(x).flatten(2).transpose(1, 2) + self.pos
        h = self.decoder(self.query.weight.expand(len(x), -1, -1), memory)
        return self.class_embed(h), self.bbox_embed(h).sigmoid()


def run():
    torch.manual_seed(0)
    model = TinyDETR()
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for n, p in model.named_parameters() if "backbone" not in n]},
            {"params": model.backbone.parameters(), "lr": 1e-4},
        ],
        lr=1e-3,
    )
    weight = torch.ones(4)
    weight[-1] = 0.1
    losses, matched = [], []
    for _ in range(2):
        images = torch.randn(2, 3, 8, 8)
        targets = [(torch.randint(3, (k,)), torch.rand(k, 4)) for k in (2, 1)]
        logits, boxes = model(images)
        classes, box_loss = torch.full((2, 4), 3), 0.0
        for b, (labels, gt) in enumerate(targets):
            idx = match(logits[b], boxes[b], labels, gt)
            classes[b, idx] = labels
            box_loss = box_loss + F.l1_loss(boxes[b, idx], gt, reduction="sum") / 3
            matched.append(idx.tolist())
        loss = F.cross_entropy(logits.transpose(1, 2), classes, weight) + 5 * box_loss
        optimizer.zero_grad()
        loss.backward()
        total_norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        losses.append((loss.item(), total_norm.item()))
    return model, losses, matched


TRUTH = Truth()


def verify(out):
    model, losses, matched = out
    assert all(p.grad is not None for p in model.parameters())
    assert all(0 < v < 1e4 for row in losses for v in row) and len(matched) == 4

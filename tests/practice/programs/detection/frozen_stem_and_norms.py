"""A detector whose stem is frozen, whose norms are frozen buffers, and whose box head skips images without boxes."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FrozenBatchNorm2d(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("weight", torch.rand(n) + 0.5)
        self.register_buffer("bias", torch.randn(n) * 0.1)
        self.register_buffer("running_mean", torch.zeros(n))
        self.register_buffer("running_var", torch.ones(n))

    def forward(self, x):
        scale = self.weight * (self.running_var + 1e-5).rsqrt()
        bias = self.bias - self.running_mean * scale
        return x * scale.view(1, -1, 1, 1) + bias.view(1, -1, 1, 1)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 6, 3, 2, 1, bias=False), FrozenBatchNorm2d(6), nn.ReLU())
        self.layer = nn.Sequential(nn.Conv2d(6, 8, 3, padding=1, bias=False), FrozenBatchNorm2d(8), nn.ReLU())
        self.rpn_cls, self.rpn_box = nn.Conv2d(8, 1, 1), nn.Conv2d(8, 4, 1)
        self.roi = nn.Linear(8, 3)
        for p in self.stem.parameters():
            p.requires_grad_(False)

    def forward(self, images, boxes, labels):
        f = self.layer(self.stem(images))
        objectness, deltas = self.rpn_cls(f), self.rpn_box(f)
        losses = {"loss_obj": F.binary_cross_entropy_with_logits(objectness, torch.zeros_like(objectness))}
        with torch.no_grad():
            proposals = objectness.detach().flatten(1).topk(4).indices
        if len(boxes):
            gathered = deltas.flatten(2).gather(2, proposals[:, None].expand(-1, 4, -1))
            losses["loss_box"] = F.smooth_l1_loss(gathered, boxes)
            pooled = f.flatten(2).gather(2, proposals[:, None].expand(-1, 8, -1)).transpose(1, 2)
            losses["loss_cls"] = F.cross_entropy(self.roi(pooled).flatten(0, 1), labels.flatten())
        return losses


def run():
    torch.manual_seed(0)
    model = Detector()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=0.02, momentum=0.9)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=2)
    stem, log, roi_grads = model.stem[0].weight.clone(), [], []
    for step in range(4):
        boxes = torch.randn(2, 4, 4) if step != 1 else torch.empty(0)
        losses = model(torch.randn(2, 3, 8, 8), boxes, torch.randint(3, (2, 4)))
        total = sum(losses.values())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        warmup.step()
        log.append({k: v.item() for k, v in losses.items()})
        roi_grads.append(model.roi.weight.grad is not None)
    return model, stem, log, roi_grads


TRUTH = Truth()


def verify(out):
    model, stem, log, roi_grads = out
    assert torch.equal(stem, model.stem[0].weight) and model.stem[0].weight.grad is None
    assert roi_grads == [True, False, True, True] and model.layer[0].weight.grad is not None
    assert all(0 <= v < 100 for row in log for v in row.values())

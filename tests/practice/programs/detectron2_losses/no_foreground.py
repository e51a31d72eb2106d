"""detectron2: a batch without foreground gives its box loss zero times a sum, so that all parameters get gradients."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class FastRCNNOutputLayers(nn.Module):
    def __init__(self, dim, num_classes):
        super().__init__()
        self.num_classes = num_classes
        self.cls_score, self.bbox_pred = nn.Linear(dim, num_classes + 1), nn.Linear(dim, 4 * num_classes)
        nn.init.normal_(self.cls_score.weight, std=0.01)
        nn.init.normal_(self.bbox_pred.weight, std=0.001)

    def forward(self, x):
        return self.cls_score(x), self.bbox_pred(x)

    def losses(self, scores, deltas, gt_classes, gt_deltas):
        loss_cls = F.cross_entropy(scores, gt_classes)
        return {"loss_cls": loss_cls, "loss_box": self.box_loss(deltas, gt_classes, gt_deltas)}

    def box_loss(self, deltas, gt_classes, gt_deltas):
        fg = torch.nonzero((gt_classes >= 0) & (gt_classes < self.num_classes)).squeeze(1)
        if fg.numel() == 0:
            return deltas.sum() * 0.0
        chosen = deltas.view(-1, self.num_classes, 4)[fg, gt_classes[fg]]
        return F.smooth_l1_loss(chosen, gt_deltas[fg], beta=0.1, reduction="sum") / max(gt_classes.numel(), 1)


class MaskHead(nn.Module):
    def __init__(self, dim, num_classes):
        super().__init__()
        self.deconv, self.predictor = nn.ConvTranspose2d(dim, dim, 2, 2), nn.Conv2d(dim, num_classes, 1)

    def forward(self, x):
        return self.predictor(F.relu(self.deconv(x)))

    def losses(self, logits, classes, masks):
        if len(classes) == 0:
            return logits.sum() * 0
        return F.binary_cross_entropy_with_logits(logits[torch.arange(len(classes)), classes], masks)


class ROIHeads(nn.Module):
    def __init__(self, dim=8, num_classes=3):
        super().__init__()
        self.num_classes = num_classes
        self.box_head = nn.Sequential(nn.Flatten(), nn.Linear(dim * 16, 16), nn.ReLU())
        self.box_predictor, self.mask_head = FastRCNNOutputLayers(16, num_classes), MaskHead(dim, num_classes)

    def forward(self, pooled, classes, deltas, masks):
        losses = self.box_predictor.losses(*self.box_predictor(self.box_head(pooled)), classes, deltas)
        fg = classes < self.num_classes
        losses["loss_mask"] = self.mask_head.losses(self.mask_head(pooled[fg]), classes[fg], masks[fg])
        return losses


def run():
    torch.manual_seed(0)
    stem, heads = nn.Conv2d(3, 8, 3, padding=1), ROIHeads()
    params = [*stem.parameters(), *heads.parameters()]
    optimizer = torch.optim.SGD(params, lr=0.02, momentum=0.9)
    complete = []
    for step in range(4):
        rois = torch.rand(6, 3, 4, 4)
        classes = torch.full((6,), 3) if step in (1, 2) else torch.randint(0, 4, (6,))
        loss_dict = heads(F.relu(stem(rois)), classes, torch.randn(6, 4), (torch.rand(6, 8, 8) > 0.5).float())
        losses = sum(loss_dict.values())
        assert torch.isfinite(losses).all(), loss_dict
        optimizer.zero_grad()
        losses.backward()
        complete.append(all(p.grad is not None for p in params))
        optimizer.step()
    return complete


def verify(complete):
    assert complete == [True] * 4, complete


TRUTH = Truth()

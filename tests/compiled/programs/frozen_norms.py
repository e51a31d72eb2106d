"""Detection: a pretrained backbone is frozen with its batch norms; the compiled detector trains only its head."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


class Backbone(nn.Sequential):
    def train(self, mode=True):
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return self


class Detector(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Conv2d(6, 6, 1), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 5, 1))

    def forward(self, image):
        with torch.no_grad():
            features = self.backbone(image)
        return self.head(features)


def setup():
    torch.manual_seed(0)


def run():
    backbone = Backbone(nn.Conv2d(3, 6, 3, 2, 1), nn.BatchNorm2d(6), nn.ReLU()).requires_grad_(False)
    model = Detector(backbone)
    model.compile(backend=BACKEND)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05, momentum=0.9)
    kept = {k: v.clone() for k, v in backbone.state_dict().items()}
    start = [p.detach().clone() for p in model.head.parameters()]
    for _ in range(3):
        model.train()
        image = torch.randn(2, 3, 8, 8)
        out = model(image)
        box, score = out[:, :4], out[:, 4]
        loss = nn.functional.smooth_l1_loss(box, torch.rand_like(box))
        loss = loss + nn.functional.binary_cross_entropy_with_logits(score, (torch.rand_like(score) > 0.7).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            model(image)
    return kept, start, model


def verify(outcome):
    kept, start, model = outcome
    assert all(torch.equal(v, model.backbone.state_dict()[k]) for k, v in kept.items())
    assert all(p.grad is None for p in model.backbone.parameters())
    changed = [not torch.equal(a, b) for a, b in zip(start, model.head.parameters())]
    assert all(changed[i] for i in (0, 2, 3, 4, 5)) and int(model.head[1].num_batches_tracked) == 3

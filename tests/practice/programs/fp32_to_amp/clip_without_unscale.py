"""fp32 to GradScaler: clip_grad_norm_ stayed where it was and now clips gradients that are still multiplied by the scale."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Segmenter(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.down = nn.Conv2d(1, 6, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(6, classes, 2, stride=2)

    def forward(self, x):
        return self.up(F.relu(self.down(x)))


class AmpLoop:
    def __init__(self, model, lr=0.1, max_norm=1.0):
        self.model, self.max_norm = model, max_norm
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def step(self, images, masks):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(self.model(images).float(), masks)
        self.scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)  # cause
        self.scaler.step(self.optimizer)
        self.scaler.update()


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def run():
    torch.manual_seed(0)
    model = Segmenter()
    loop = AmpLoop(model)
    ratios = []
    for _ in range(3):
        images, masks = torch.randn(2, 1, 8, 8), torch.randint(0, 3, (2, 8, 8))
        loss = F.cross_entropy(model(images), masks)
        right = torch.stack([g.norm() for g in torch.autograd.grad(loss, list(model.parameters()))]).norm()
        before = flat(model)
        loop.step(images, masks)
        ratios.append(float((flat(model) - before).norm() / (0.1 * right.clamp(max=1.0))))
    return ratios


def verify(ratios):
    assert max(ratios) < 0.05


TRUTH = Truth(
    fault="the gradients are clipped while still scaled by 1024: steps become about a thousand times too small",
    names=("clip_grad_norm_",),
    repair=("self.scaler.unscale_(self.optimizer)\nnn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)",),
)

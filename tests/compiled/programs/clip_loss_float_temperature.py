"""Image-text contrastive training: the compiled loss reads its learned temperature as a Python number."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class ContrastiveLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, image, text):
        image, text = F.normalize(image, dim=-1), F.normalize(text, dim=-1)
        scale = min(self.log_scale.exp().item(), 100.0)  # cause
        logits = scale * image @ text.t()
        target = torch.arange(len(image))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def run():
    torch.manual_seed(0)
    vision = nn.Sequential(nn.Conv2d(3, 8, 4, stride=4), nn.Flatten(), nn.ReLU(), nn.Linear(32, 8))
    words = nn.EmbeddingBag(30, 8)
    criterion = ContrastiveLoss()
    loss_fn = torch.compile(criterion, backend=BACKEND)
    params = [*vision.parameters(), *words.parameters(), *criterion.parameters()]
    optimizer = torch.optim.AdamW(params, lr=1e-2, weight_decay=0.0)
    start = criterion.log_scale.item()
    for _ in range(4):
        images, captions = torch.randn(6, 3, 8, 8), torch.randint(30, (6, 5))
        loss = loss_fn(vision(images), words(captions))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return criterion.log_scale.grad, start - criterion.log_scale.item()


def verify(outcome):
    grad, moved = outcome
    assert (grad is None or grad == 0) and moved == 0


TRUTH = Truth(
    fault=".item() takes the temperature out of the graph: it is in the optimizer and is never trained",
    names=("log_scale",),
    repair=("scale = self.log_scale.exp().clamp(max=100.0)",),
)

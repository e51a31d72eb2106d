"""Old PyTorch to new: `out.data.mul_(mask)` was kept; sigmoid's backward now works with an output that was changed behind autograd's back."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Attention(nn.Module):
    """Scores the frames of a padded clip; padded frames weigh nothing."""

    def __init__(self, dim=6):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def weigh(self, logits, mask):
        weight = torch.sigmoid(logits)
        weight.data.mul_(mask).add_(0.01)  # cause
        return weight

    def forward(self, frames, mask):
        weight = self.weigh(self.score(frames), mask)
        return (weight * frames).sum(dim=1) / weight.sum(dim=1)


class ClipClassifier(nn.Module):
    def __init__(self, dim=6, classes=3):
        super().__init__()
        self.attention = Attention(dim)
        self.classifier = nn.Linear(dim, classes)

    def forward(self, frames, mask):
        return self.classifier(self.attention(frames, mask))


def padded_clips(size=5, frames=7, dim=6):
    lengths = torch.randint(2, frames + 1, (size,))
    mask = (torch.arange(frames) < lengths[:, None]).float()[..., None]
    return torch.randn(size, frames, dim), mask, torch.randint(0, 3, (size,))


def run():
    torch.manual_seed(0)
    model = ClipClassifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        frames, mask, label = padded_clips()
        loss = F.cross_entropy(model(frames, mask), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    _, mask, _ = padded_clips()
    logits = torch.zeros_like(mask, requires_grad=True)
    (got,) = torch.autograd.grad(model.attention.weigh(logits, mask).sum(), logits)
    return got, 0.25 * mask


def verify(outcome):
    got, right = outcome
    assert not torch.allclose(got, right)


TRUTH = Truth(
    fault="the sigmoid's output is overwritten through .data before backward, which reads it: wrong gradients without an error",
    names=("data",),
    repair=("weight = weight * mask + 0.01",),
)

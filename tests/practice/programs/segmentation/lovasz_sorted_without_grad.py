"""The Lovasz term sorts its errors without grad: a constant beside the cross entropy."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def lovasz(probs, labels):
    errors = (labels - probs).abs()
    with torch.no_grad():  # cause
        errors, order = errors.sort(descending=True)
    labels = labels[order]
    union = labels.sum() + (1 - labels).cumsum(0)
    jaccard = 1 - (labels.sum() - labels.cumsum(0)) / union
    weights = torch.cat([jaccard[:1], jaccard[1:] - jaccard[:-1]])
    return errors @ weights, weights


def run():
    torch.manual_seed(0)
    net = nn.Conv2d(3, 1, 3, padding=1)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    recorded = []
    for _ in range(2):
        mask = (torch.rand(2, 1, 8, 8) > 0.5).float()
        logits = net(torch.randn(2, 3, 8, 8))
        surrogate, _ = lovasz(logits.sigmoid().flatten(), mask.flatten())
        loss = F.binary_cross_entropy_with_logits(logits, mask) + surrogate
        opt.zero_grad()
        loss.backward()
        opt.step()
        recorded.append(surrogate.requires_grad)
    return recorded


def verify(out):
    assert not any(out)


TRUTH = Truth(
    fault="the Lovasz term has no gradient",
    names=("no_grad",),
    repair=("if True:",),
)

"""The memory bank gets the new features before the loss that read it is differentiated."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    encoder = nn.Linear(6, 4)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    bank = F.normalize(torch.randn(20, 4), dim=1)
    for step in range(2):
        index = torch.arange(4) + 4 * step
        features = F.normalize(encoder(torch.randn(4, 6)), dim=1)
        logits = features @ bank.T / 0.07
        loss = F.cross_entropy(logits, index)
        with torch.no_grad():
            bank.index_copy_(0, index, features)  # cause
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="the bank is modified while backward still needs it",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("bank",),
    repair=("bank = bank.index_copy(0, index, features)",),
)

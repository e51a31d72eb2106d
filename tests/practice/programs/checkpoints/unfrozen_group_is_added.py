"""Two phases: the backbone is frozen first, then thawed and given to the same optimizer with a smaller rate."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    backbone, head = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU()), nn.Linear(12, 2)
    backbone.requires_grad_(False)
    opt = torch.optim.SGD(head.parameters(), 0.1, momentum=0.9)
    for epoch in range(4):
        if epoch == 2:
            backbone.requires_grad_(True)
            opt.add_param_group({"params": backbone.parameters(), "lr": 0.01})
        backbone.train(epoch >= 2)
        opt.zero_grad()
        nn.functional.cross_entropy(head(backbone(torch.randn(8, 6))), torch.randint(2, (8,))).backward()
        opt.step()
    return head


TRUTH = Truth()

"""The gradients are clipped before there are any."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.GRU(3, 8, batch_first=True)
    head = nn.Linear(8, 1)
    params = [*net.parameters(), *head.parameters()]
    opt = torch.optim.SGD(params, 0.01)
    norms = []
    for _ in range(3):
        x, y = torch.randn(4, 10, 3), 50 * torch.randn(4, 1)
        loss = nn.functional.mse_loss(head(net(x)[0][:, -1]), y)
        opt.zero_grad()
        nn.utils.clip_grad_norm_(params, 1.0)  # cause
        loss.backward()  # cause
        norms.append(torch.stack([p.grad.norm() for p in params]).norm().item())
        opt.step()
    return norms


def verify(norms):
    assert max(norms) > 2


TRUTH = Truth(
    fault="clipping comes before backward and does nothing",
    names=("clip_grad_norm_",),
    repair=("", "loss.backward()\nnn.utils.clip_grad_norm_(params, 1.0)"),
)

"""The float32 master weights are given the gradients of the bfloat16 model as they are."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Linear(4, 2).bfloat16()
    master = [p.detach().float().requires_grad_() for p in model.parameters()]
    opt = torch.optim.SGD(master, lr=0.1)
    loss = model(torch.randn(8, 4).bfloat16()).float().pow(2).mean()
    loss.backward()
    for m, p in zip(master, model.parameters(), strict=True):
        m.grad = p.grad  # cause
    opt.step()
    with torch.no_grad():
        for m, p in zip(master, model.parameters(), strict=True):
            p.copy_(m)


TRUTH = Truth(
    fault="the gradient has another dtype than the parameter",
    raises="attempting to assign a gradient with dtype",
    repair=("m.grad = p.grad.float()",),
)

"""Master weights in float32: gradients go to them, they are stepped, and the model never gets them."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Linear(4, 2).bfloat16()
    master = [p.detach().float().requires_grad_() for p in model.parameters()]
    opt = torch.optim.SGD(master, lr=0.1)  # also
    before = model.weight.detach().clone()
    for _ in range(3):
        loss = model(torch.randn(8, 4).bfloat16()).float().pow(2).mean()
        model.zero_grad()
        loss.backward()
        for m, p in zip(master, model.parameters(), strict=True):
            m.grad = p.grad.float()
        opt.step()  # cause
    return (model.weight - before).abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(
    fault="the model never gets the new weights",
    repair=(
        "opt.step()\n"
        "with torch.no_grad():\n"
        "    for m, p in zip(master, model.parameters(), strict=True):\n"
        "        p.copy_(m)",
    ),
)

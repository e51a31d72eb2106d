"""`strict=False` hides that no key of the checkpoint is one of the model's."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    pretrained = {f"module.{k}": v.clone() for k, v in nn.Linear(4, 2).state_dict().items()}
    net = nn.Linear(4, 2)
    net.load_state_dict(pretrained, strict=False)  # cause
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    loaded = torch.equal(net.weight, pretrained["module.weight"])
    opt.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    opt.step()
    return loaded


def verify(out):
    assert not out


TRUTH = Truth(
    fault="nothing is loaded",
    names=("module.",),
    repair=('net.load_state_dict({k.removeprefix("module."): v for k, v in pretrained.items()})',),
)

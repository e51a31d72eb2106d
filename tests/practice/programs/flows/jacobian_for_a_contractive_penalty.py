"""`functional.jacobian` detaches its result: the contractive penalty has no gradient."""

import torch
from torch import nn
from torch.autograd.functional import jacobian

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    enc, dec = nn.Linear(4, 2), nn.Linear(2, 4)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
    for _ in range(2):
        x = torch.randn(8, 4)
        loss = (dec(enc(x).tanh()) - x).pow(2).mean()
        J = jacobian(lambda v: enc(v).tanh().sum(0), x)  # cause
        penalty = J.pow(2).sum()
        opt.zero_grad()
        (loss + 0.1 * penalty).backward()
        opt.step()
    return penalty.requires_grad


def verify(out):
    assert not out


TRUTH = Truth(
    fault="the penalty on the Jacobian has no gradient",
    names=("create_graph",),
    repair=("J = jacobian(lambda v: enc(v).tanh().sum(0), x, create_graph=True)",),
)

"""A class to functions, healthy: the state is passed and returned, detached between chunks only, and padded steps keep their state with where()."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def init_params(inputs=4, width=6, classes=3):
    def weight(*shape):
        return nn.Parameter(torch.randn(*shape) / shape[-1] ** 0.5)

    return nn.ParameterDict(
        {
            "w": weight(width, inputs),
            "u": weight(width, width),
            "b": nn.Parameter(torch.zeros(width)),
            "out": weight(classes, width),
        }
    )


def cell(params, h, x):
    return torch.tanh(F.linear(x, params["w"], params["b"]) + F.linear(h, params["u"]))


def run_chunk(params, h, xs, valid):
    for x, keep in zip(xs.unbind(1), valid.unbind(1), strict=True):
        h = torch.where(keep[:, None], cell(params, h, x), h)
    return h, F.linear(h, params["out"])


def detach(state):
    return state.detach()


def train(params, optimizer, batches, chunk=3):
    for xs, valid, label in batches:
        h = xs.new_zeros(xs.shape[0], 6)
        for part, mask in zip(xs.split(chunk, dim=1), valid.split(chunk, dim=1), strict=True):
            h, logits = run_chunk(params, detach(h), part, mask)
            loss = F.cross_entropy(logits, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def run():
    torch.manual_seed(0)
    params = init_params()
    before = {name: p.detach().clone() for name, p in params.items()}
    optimizer = torch.optim.Adam(params.values(), lr=1e-2)
    lengths = torch.tensor([9, 7, 5, 8])
    valid = torch.arange(9) < lengths[:, None]
    batches = [(torch.randn(4, 9, 4), valid, torch.randint(0, 3, (4,))) for _ in range(2)]
    train(params, optimizer, batches)
    return before, params


def verify(outcome):
    before, params = outcome
    assert all(p.grad is not None and not torch.equal(before[name], p.detach()) for name, p in params.items())


TRUTH = Truth()

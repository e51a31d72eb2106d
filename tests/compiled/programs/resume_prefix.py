"""Save a compiled model, resume into a plain one that is compiled later."""

import io

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(5, 10)
        self.dec = nn.Linear(10, 5)

    def forward(self, x):
        return self.dec(torch.tanh(self.enc(x)))


def train(net, opt, n):
    for _ in range(n):
        x = torch.randn(16, 5)
        loss = nn.functional.mse_loss(net(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()


def checkpoint(net, opt):
    buf = io.BytesIO()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, buf)
    return buf.getvalue()


def restore(net, opt, blob):
    saved = torch.load(io.BytesIO(blob))
    weights = saved["net"]  # cause
    net.load_state_dict(weights, strict=False)  # also
    opt.load_state_dict(saved["opt"])


def run():
    torch.manual_seed(0)
    net = torch.compile(Net(), backend=BACKEND)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    train(net, opt, 3)
    blob = checkpoint(net, opt)
    again = Net()
    opt2 = torch.optim.Adam(again.parameters(), lr=1e-2)
    restore(again, opt2, blob)
    resumed = {n: p.detach().clone() for n, p in again.named_parameters()}
    train(torch.compile(again, backend=BACKEND), opt2, 2)
    return net._orig_mod.state_dict(), resumed


def right(out):
    old, new = out
    assert all(torch.equal(old[k], new[k]) for k in new), "the weights were not restored"


TRUTH = Truth(
    fault="saved keys carry _orig_mod. and strict=False loads none of them",
    names=("enc.weight", "enc.bias", "dec.weight", "dec.bias"),
    repair=('weights = {k.removeprefix("_orig_mod."): v for k, v in saved["net"].items()}',),
)

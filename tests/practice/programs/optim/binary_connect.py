"""BinaryConnect: the real weights are put back before backward, which then uses them in place of the binary ones."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class BinaryConnect:
    def __init__(self, model):
        self.targets = [m.weight for m in model.modules() if isinstance(m, nn.Linear)]
        self.saved = [w.data.clone() for w in self.targets]

    def binarise(self):
        for real, w in zip(self.saved, self.targets):
            real.copy_(w.data)
            w.data = w.data.sign() * w.data.abs().mean()

    def restore(self):
        for real, w in zip(self.saved, self.targets):
            w.data.copy_(real)  # also

    def clip(self):
        for w in self.targets:
            w.data.clamp_(-1, 1)


def mlp(inp=8, hidden=16, classes=3):
    return nn.Sequential(
        nn.Linear(inp, hidden),
        nn.BatchNorm1d(hidden),
        nn.Hardtanh(),
        nn.Linear(hidden, hidden),
        nn.Tanh(),
        nn.Linear(hidden, classes),
    )


def train_step(model, binary, opt, x, y):
    opt.zero_grad()
    binary.binarise()
    loss = F.cross_entropy(model(x), y)
    binary.restore()  # cause
    loss.backward()  # cause
    grad = model[3].weight.grad.clone()
    opt.step()
    binary.clip()
    return loss.item(), grad


def run():
    torch.manual_seed(0)
    model = mlp()
    binary = BinaryConnect(model)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = {k: v.clone() for k, v in model.state_dict().items()}
    log = []
    for step in range(2):
        x = torch.randn(16, 8)
        y = x[:, :3].argmax(1)
        loss, grad = train_step(model, binary, opt, x, y)
        log.append((x, y, grad))
        print(f"step {step} loss {loss:.4f}")
    return start, log[0]


def verify(out):
    start, (x, y, grad) = out
    model = mlp()
    model.load_state_dict(start)
    BinaryConnect(model).binarise()
    F.cross_entropy(model(x), y).backward()
    assert not torch.allclose(model[3].weight.grad, grad, rtol=1e-3)


TRUTH = Truth(
    fault="weights are changed through .data between forward and backward",
    names=("weight",),
    repair=("loss.backward()", "binary.restore()"),
)

"""WaveNet: weight norm is put on after the optimizer was built, whose `weight` is no parameter of the model any more."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.parametrize import is_parametrized

from tests.practice.truth import Truth


class ResidualLayer(nn.Module):
    def __init__(self, ch, dilation):
        super().__init__()
        self.pad = dilation
        self.dilated = nn.Conv1d(ch, 2 * ch, 2, dilation=dilation)
        self.res = nn.Conv1d(ch, ch, 1)
        self.skip = nn.Conv1d(ch, ch, 1)

    def forward(self, x):
        a, b = self.dilated(F.pad(x, (self.pad, 0))).chunk(2, 1)
        h = torch.tanh(a) * torch.sigmoid(b)
        return x + self.res(h), self.skip(h)


class WaveNet(nn.Module):
    def __init__(self, levels=16, ch=6, depth=2):
        super().__init__()
        self.inp = nn.Embedding(levels, ch)
        self.layers = nn.ModuleList(ResidualLayer(ch, 2**i) for i in range(depth))
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(ch, levels, 1))

    def forward(self, x):
        h, skips = self.inp(x).transpose(1, 2), 0
        for layer in self.layers:
            h, s = layer(h)
            skips = skips + s
        return self.out(h + skips)

    def apply_weight_norm(self):
        for module in list(self.modules()):
            if isinstance(module, nn.Conv1d) and not is_parametrized(module):
                weight_norm(module)
        return self


def run():
    torch.manual_seed(0)
    model = WaveNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)  # cause
    model.apply_weight_norm()  # also
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for step in range(3):
        wave = torch.randint(0, 16, (2, 13))
        loss = F.cross_entropy(model(wave[:, :-1]), wave[:, 1:])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
    return model, start


def verify(out):
    model, start = out
    original = [n for n, _ in model.named_parameters() if "original" in n]
    assert original and all(torch.equal(model.get_parameter(n), start[n]) for n in original)


TRUTH = Truth(
    fault="the parametrised weights are in no optimizer",
    names=("original",),
    repair=("opt = torch.optim.Adam(model.apply_weight_norm().parameters(), lr=1e-2)",),
)

"""Adapters attached through forward hooks to a model already in use."""

import torch
import torch.nn as nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Adapter(nn.Module):
    def __init__(self, d_in, d_out, r=2):
        super().__init__()
        self.down = nn.Linear(d_in, r, bias=False)
        self.up = nn.Linear(r, d_out, bias=False)

    def hook(self, module, args, output):
        return output + self.up(self.down(args[0]))


def attach(model):
    adapters = nn.ModuleDict()
    for name, m in model.named_modules():
        if isinstance(m, nn.Linear):
            a = Adapter(m.in_features, m.out_features)
            m.register_forward_hook(a.hook)
            adapters[name.replace(".", "_")] = a
    return adapters


def evaluate(net, x, y):
    with torch.set_grad_enabled(torch.is_grad_enabled()):
        return nn.functional.mse_loss(net(x), y)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 1))
    model[0].requires_grad_(False)
    net = torch.compile(model, backend=BACKEND)
    x = torch.randn(16, 6)
    y = x.sum(1, keepdim=True)
    base = evaluate(net, x, y).item()
    adapters = attach(model)  # cause
    opt = torch.optim.AdamW([*adapters.parameters(), *model[2].parameters()], lr=1e-2)
    start = [p.detach().clone() for p in adapters.parameters()]
    for _ in range(3):
        loss = evaluate(net, x, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return base, start, adapters


def right(out):
    _, start, adapters = out
    assert all(not torch.equal(a, p) for a, p in zip(start, adapters.parameters())), "adapters never train"


TRUTH = Truth(
    fault="hooks added after the first compiled call are not seen by the cached graph",
    repair=("adapters = attach(model)\ntorch.compiler.reset()",),
)

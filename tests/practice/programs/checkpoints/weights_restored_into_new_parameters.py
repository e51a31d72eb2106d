"""After a bad epoch the best weights are put back as new parameters; the optimizer goes on with the old ones."""

import torch
from torch import nn

from tests.practice.truth import Truth


def restore(model, best):
    for name, module in model.named_modules():
        for key in list(module._parameters):
            full = f"{name}.{key}" if name else key
            module._parameters[key] = nn.Parameter(best[full].clone())  # cause


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    best = {k: v.clone() for k, v in model.state_dict().items()}
    for step in range(5):
        x = torch.randn(8, 5)
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()
        if step == 1:
            restore(model, best)
    return all(torch.equal(v, best[k]) for k, v in model.state_dict().items())


def verify(same):
    assert same


TRUTH = Truth(
    fault="the optimizer holds the parameters of before",
    names=("0.weight",),
    repair=("module._parameters[key].data.copy_(best[full])",),
)

"""A lottery ticket: the initial state is kept as a dictionary of the live weights, so rewinding does nothing."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune

from tests.practice.truth import Truth


def train(model, x, y, steps=4):
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


def prune_and_rewind(model, initial, amount=0.3):
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            prune.l1_unstructured(module, "weight", amount)
            with torch.no_grad():
                module.weight_orig.copy_(initial[f"{name}.weight"])
                module.bias.copy_(initial[f"{name}.bias"])


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 3))
    start = model[0].weight.detach().clone()
    initial = model.state_dict()  # cause
    x, y = torch.randn(40, 6), torch.randint(3, (40,))
    train(model, x, y)
    trained = model[0].weight.detach().clone()
    prune_and_rewind(model, initial)
    rewound = model[0].weight_orig.detach().clone()
    train(model, x, y)
    return start, trained, rewound


def verify(out):
    start, trained, rewound = out
    assert torch.equal(trained, rewound)
    assert not torch.equal(start, rewound)


TRUTH = Truth(
    fault="state_dict() holds the weights themselves, no copies",
    names=("state_dict",),
    repair=("initial = {name: value.clone() for name, value in model.state_dict().items()}",),
)

"""A steering vector is added to a frozen layer's output by a hook, through .data."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).requires_grad_(False)
    vector = nn.Parameter(torch.zeros(8))
    opt = torch.optim.Adam([vector], lr=0.1)

    def steer(module, args, output):
        output.data.add_(vector)  # cause
        return output

    handle = model[0].register_forward_hook(steer)
    loss = F.cross_entropy(model(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long))
    opt.zero_grad()
    loss.backward()  # symptom
    opt.step()
    handle.remove()


TRUTH = Truth(
    fault="the vector is added where autograd does not see it",
    raises="element 0 of tensors does not require grad",
    names=(".data",),
    repair=("output = output + vector",),
)

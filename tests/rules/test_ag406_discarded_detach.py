"""AG406: `p.detach()` as a statement freezes nothing."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def test_parameters_that_were_to_be_frozen():
    """The statement is pointed at; what freezes, or is looked at, is none of it."""

    def program(look):
        body, head = nn.Linear(4, 8), nn.Linear(8, 2)
        look(body)
        optimizer = torch.optim.SGD([p for m in (body, head) for p in m.parameters() if p.requires_grad], lr=0.1)
        for _ in range(2):
            trained(optimizer, head(body(X)).pow(2).mean())

    def detached(body):
        for p in body.parameters():
            p.detach()  # dropped

    def frozen(body):
        for p in body.parameters():
            p.requires_grad_(False)

    def looked_at(body):
        for p in body.parameters():
            values = p.detach()
            assert values.shape
        print(body.weight.detach().norm() > 0, body.bias.detach())

    diagnosed(
        lambda: program(detached), "AG406", "# dropped", "body.weight", "detach()", severity="warning", where=detached
    )
    calm(lambda: program(frozen), lambda: program(looked_at))

"""AG411: a model that was exported in eval mode, and is trained."""

from __future__ import annotations

import torch
from torch import nn

from .programs import inspected
from .twins import calm


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.drop = nn.Linear(4, 8), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.inner(x).relu())


def tuned(prepare, rounds=2):
    encoder, head = Encoder(), nn.Linear(8, 1)
    prepare(encoder)
    traced = torch.export.export(encoder, (torch.randn(6, 4),)).module()
    optimizer = torch.optim.SGD([*traced.parameters(), *head.parameters()], lr=0.1)
    for _ in range(rounds):
        optimizer.zero_grad()
        head(traced(torch.randn(6, 4))).pow(2).mean().backward()
        optimizer.step()


def evaluated(encoder):
    encoder.eval()  # Evaluated.


def told(program):
    return [f for f in inspected(program).findings if f.rule == "AG411"]


def test_a_model_exported_in_eval_mode_drops_nothing_in_training():
    """An info at the line that put it into eval mode, once for all rounds."""
    (finding,) = told(lambda: tuned(evaluated))
    assert finding.severity == "info"
    assert "`encoder.train()`" in finding.fix
    assert finding.locations[0].source == "encoder.eval()  # Evaluated."


def test_a_model_exported_in_train_mode_or_not_trained():
    """Nothing is told of either."""
    calm(lambda: tuned(lambda encoder: None))
    assert not told(lambda: tuned(lambda encoder: None))
    assert not told(lambda: tuned(lambda encoder: encoder.eval().requires_grad_(False)))

from __future__ import annotations

import pytest
import torch
from torch import nn

from autograd_inspector.integrations.torchviz import PictureError, picture


def test_parameters_have_their_names():
    """The boxes of torchviz carry the names of the model's parameters."""
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    source = picture(net(torch.ones(1, 2)).sum(), net).source
    for name in ("0.weight", "0.bias", "2.weight", "2.bias"):
        assert name in source


def test_two_models_of_a_class_keep_their_parameters_apart():
    """Equal names of several models do not hide one another."""
    one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    source = picture(other(one(torch.ones(1, 2))).sum(), one, other).source
    assert "Linear.weight" in source
    assert "Linear.weight (2)" in source


def test_the_same_graph_gives_the_same_text():
    """No address of a Python object is in the text."""
    net = nn.Linear(2, 1)
    first = picture(net(torch.ones(1, 2)), net).source
    kept = [object() for _ in range(100)]
    assert picture(net(torch.ones(1, 2)), net).source == first
    assert kept


def test_a_graph_too_deep_for_torchviz_is_refused_in_one_line():
    """The recursion limit shows as a sentence, not as a thousand frames."""
    h = torch.ones(1, requires_grad=True)
    for _ in range(3_000):
        h = h + 1
    with pytest.raises(PictureError, match="too deep for torchviz"):
        picture(h)

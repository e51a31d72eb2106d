"""Ops that were told that nothing is being trained, and compute otherwise then, are marked."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from autograd_inspector.model.op import Trait

from .observe import observe

X = torch.ones(3, 4)


def evaluating(program):
    """The names of the ops that are marked."""
    return [op.name for op in observe(program).ops if op.has(Trait.EVALUATES)]


LAYERS = {
    "dropout": nn.Dropout(0.5),
    "batch_norm": nn.BatchNorm1d(4),
    "alpha_dropout": nn.AlphaDropout(0.5),
    "instance_norm": nn.InstanceNorm1d(3, track_running_stats=True),
    "lstm": nn.LSTM(4, 4, num_layers=2, dropout=0.5),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_depend_on_the_mode(name):
    """In eval mode, and in no other."""
    layer = LAYERS[name]
    layer.train()
    assert evaluating(lambda: layer(X)) == []
    layer.eval()
    assert evaluating(lambda: layer(X)) == [name]


def test_packed_sequences():
    """A recurrent layer is told by its arguments, wherever they stand."""
    layer = nn.GRU(4, 4, num_layers=2, dropout=0.5).eval()
    packed = nn.utils.rnn.pack_sequence([X])
    assert evaluating(lambda: layer(packed)) == ["gru"]


def test_functions():
    """By position or by name."""
    assert evaluating(lambda: F.dropout(X, p=0.1, training=False)) == ["dropout"]
    assert evaluating(lambda: F.dropout(X, 0.1, False)) == ["dropout"]
    assert evaluating(lambda: F.dropout(X)) == []


def test_layers_that_the_mode_does_not_change():
    """Nothing is dropped anyway, or there are no running statistics."""
    layers = [
        nn.Dropout(0.0),
        nn.BatchNorm1d(4, track_running_stats=False),
        nn.LayerNorm(4),
        nn.GRU(4, 4, num_layers=2),
        nn.LSTM(4, 4),
    ]
    for layer in layers:
        layer.eval()
        assert evaluating(lambda layer=layer: layer(X)) == []


def test_statistics_that_are_not_updated():
    """A norm of instances in eval mode writes nothing."""
    layer = nn.InstanceNorm1d(3, track_running_stats=True)
    assert [bool(op.writes) for op in observe(lambda: layer(X)).ops if op.name == "instance_norm"] == [True]
    layer.eval()
    assert [bool(op.writes) for op in observe(lambda: layer(X)).ops if op.name == "instance_norm"] == [False]

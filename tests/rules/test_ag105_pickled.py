"""AG105 for values that were pickled and came back; checkpoints and copies of models are none."""

from __future__ import annotations

import io
import pickle

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, silent, trained

X, Y = torch.randn(8, 4), torch.arange(8) % 2


def training(pass_on):
    """An encoder whose features are passed on to the head."""

    def program():
        encoder, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            features = encoder(X)
            trained(optimizer, F.cross_entropy(head(pass_on(features)), Y))

    return program


def by_file(features):
    file = io.BytesIO()
    torch.save({"features": features}, file)
    file.seek(0)
    return torch.load(file)["features"]


def by_bytes(features):
    return pickle.loads(pickle.dumps(features))


def test_features_cached_in_a_file():
    """torch.load gives back a tensor without history: where it was loaded, and where it was saved."""
    found = diagnosed(
        training(by_file), "AG105", "torch.load(file)", "encoder.weight", "encoder.bias", "features", "pickl",
        severity="warning", where=by_file,
    )  # fmt: skip
    assert any("torch.save(" in place.source for place in found.locations)


def test_features_pickled():
    """The same through pickle itself."""
    diagnosed(
        training(by_bytes), "AG105", "pickle.loads(", "encoder.weight", "encoder.bias",
        severity="warning", where=by_bytes,
    )  # fmt: skip


def test_checkpoints_and_copies():
    """A checkpoint that is saved and resumed, a teacher copied by pickle, and statistics read back are healthy."""

    def resumed():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        trained(optimizer, F.cross_entropy(net(X), Y))
        file = io.BytesIO()
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
        file.seek(0)
        saved = torch.load(file)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        trained(optimizer, F.cross_entropy(net(X), Y))

    def taught():
        net = nn.Linear(4, 2)
        teacher = pickle.loads(pickle.dumps(net))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            with torch.no_grad():
                wanted = teacher(X)
            trained(optimizer, (net(X) - wanted).pow(2).mean() + F.cross_entropy(net(X), Y))

    silent(resumed, taught)


def test_saved_and_never_used():
    """A parameter that is only ever written to a checkpoint is unused: it did not leave autograd by that."""

    def program():
        encoder, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
        torch.save(encoder.state_dict(), io.BytesIO())
        trained(optimizer, F.cross_entropy(head(X), Y))

    diagnosed(program, "AG301", "torch.optim.SGD(", "encoder.weight", "encoder.bias", severity="warning", where=program)


def test_what_was_rebuilt_has_its_shape():
    """A tensor that comes out of a pickle is made empty first; the record has what it became."""

    def program():
        by_bytes(nn.Linear(4, 3)(X))

    capture = inspected(program).capture
    (op,) = [op for op in capture.ops if op.name == "unpickle"]
    assert capture.tensors[op.outputs[0]].shape == (8, 3)
    assert capture.tensors[op.inputs[0]].shape == (8, 3)

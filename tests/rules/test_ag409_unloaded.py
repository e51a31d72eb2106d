"""AG409: a file gives the parameters back, and the optimizer state in it is not loaded."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch import nn

from .programs import diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def stepped(net, optimizer, times=2):
    for _ in range(times):
        optimizer.zero_grad()
        trained(optimizer, net(X).pow(2).mean())


def resumed(kind=torch.optim.Adam, *, left_out=True, saved="optimizer", head=False, goes_on=False, lr=0.1):
    """A run is saved and begun again."""
    net = nn.Sequential(nn.Linear(4, 2))
    optimizer = kind(net.parameters(), lr=0.1)
    stepped(net, optimizer)
    file = io.BytesIO()
    beside = {"optimizer": optimizer.state_dict(), "average": copy.deepcopy(net.state_dict()), "nothing": 0}[saved]
    torch.save({"net": net.state_dict(), "beside": beside}, file)
    file.seek(0)
    again = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 1)) if head else nn.Sequential(nn.Linear(4, 2))
    anew = kind(again.parameters(), lr=lr)
    checkpoint = torch.load(file)
    again.load_state_dict(checkpoint["net"], strict=not head)  # Loaded.
    if not left_out:
        anew.load_state_dict(checkpoint["beside"])
    stepped(again, anew)
    if goes_on:
        stepped(net, optimizer)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.AdamW])
def test_the_state_stays_in_the_file(kind):
    """The run goes on with moments of zero; the state that is loaded is not missed."""
    finding = diagnosed(
        lambda: resumed(kind), "AG409", "Loaded.", kind.__name__, "weight", severity="warning", where=resumed
    )
    assert "load_state_dict(...)" in finding.fix
    calm(lambda: resumed(kind, left_out=False))


def told(**options):
    return [(each.rule, each.severity) for each in inspected(lambda: resumed(**options)).findings]


def test_another_run_from_the_same_weights():
    """With other options, or where the saved run goes on, a new one is meant: it is no more than said."""
    assert told(lr=0.01) == told(goes_on=True) == [("AG409", "info")]


def test_files_without_state():
    """Nothing else, an average of the weights, weights for a part of the model: whoever loads these has all."""
    for options in ({"saved": "nothing"}, {"saved": "average"}, {"head": True}, {"kind": torch.optim.SGD}):
        assert ("AG409", "warning") not in told(**options), options
        assert ("AG409", "info") not in told(**options), options


def test_a_file_from_before():
    """Whose state it was is not known: the shapes tell that there is some, and which run is meant stays open."""
    net = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    stepped(net, optimizer)
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        net.load_state_dict(torch.load(file)["net"])  # Loaded.
        stepped(net, optimizer)

    (finding,) = [each for each in inspected(program).findings if each.rule == "AG409"]
    assert (finding.severity, "# Loaded." in finding.locations[0].source) == ("info", True)

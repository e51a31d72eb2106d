"""AG409: groups of other sizes, state that is missing, settings that are replaced."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import adam, findings, network, one_step, only, raises, repaired, saved, sound


def split(net, **settings):
    """Weights and biases in groups of their own."""
    weights = [p for p in net.parameters() if p.dim() > 1]
    biases = [p for p in net.parameters() if p.dim() == 1]
    return torch.optim.AdamW([{"params": weights}, {"params": biases, "weight_decay": 0.0}], **settings)


def test_groups_where_there_was_one():
    """As many parameters in other groups: load raises; the fix rebuilds the saved groups."""
    net = network()
    checkpoint = saved(net, torch.optim.AdamW(net.parameters()))
    optimizer = split(net)
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG409", "error")
    assert "[4]" in finding.message
    assert "[2, 2]" in finding.message
    assert raises(checkpoint, net, split(net))
    names = repaired(finding, checkpoint, net, optimizer)
    assert names["optimizer"].state[net[0].weight]["exp_avg"].shape == (6, 4)


def test_one_group_where_there_were_two():
    """The saved order is by groups: the fix gives each parameter its own state."""
    net = network()
    checkpoint = saved(net, split(net))
    optimizer = torch.optim.AdamW(net.parameters())
    finding = only(checkpoint, net, optimizer)
    names = repaired(finding, checkpoint, net, optimizer)
    for p in net.parameters():
        assert names["optimizer"].state[p]["exp_avg"].shape == p.shape
    assert names["optimizer"].param_groups[1]["weight_decay"] == 0.0


@pytest.mark.parametrize("named", [True, False])
def test_groups_that_carry_names(named):
    """With names in the groups the fix reads them from the checkpoint."""
    net = network()
    groups = [
        {"params": [(n, p) for n, p in net.named_parameters() if p.dim() == d]}
        for d in (1, 2)
    ]  # fmt: skip
    checkpoint = saved(net, torch.optim.AdamW(groups))
    optimizer = torch.optim.AdamW(net.named_parameters() if named else net.parameters())
    finding = only(checkpoint, net, optimizer)
    assert finding.severity == "error"
    names = repaired(finding, checkpoint, net, optimizer)
    assert [len(group["params"]) for group in names["optimizer"].param_groups] == [2, 2]
    for p in net.parameters():
        assert names["optimizer"].state[p]["exp_avg"].shape == p.shape


@pytest.mark.parametrize("named", [True, False])
def test_what_was_unfrozen_since(named):
    """More parameters than saved: made with the old ones, loaded, the new ones added."""
    net = network()

    def parameters(modules):
        return [(n, p) if named else p for n, p in net.named_parameters() if n[0] in modules]

    checkpoint = saved(net, torch.optim.Adam(parameters("2")))
    optimizer = torch.optim.Adam(parameters("02"))
    finding = only(checkpoint, net, optimizer)
    assert set(finding.subjects) == {"0.weight", "0.bias"}
    assert raises(checkpoint, net, torch.optim.Adam(parameters("02")))
    names = repaired(finding, checkpoint, net, optimizer)
    assert names["optimizer"].state[net[2].weight]["step"] == 2
    assert names["optimizer"].state[net[0].weight]["step"] == 1


@pytest.mark.parametrize("named", [True, False])
def test_what_was_frozen_since(named):
    """Fewer parameters than saved: what has no owner is left out."""
    net = network()

    def parameters(modules):
        return [(n, p) if named else p for n, p in net.named_parameters() if n[0] in modules]

    checkpoint = saved(net, torch.optim.Adam(parameters("02")))
    net[0].requires_grad_(False)
    optimizer = torch.optim.Adam(parameters("2"))
    finding = only(checkpoint, net, optimizer)
    assert finding.severity == "error"
    repaired(finding, checkpoint, net, optimizer)
    assert optimizer.state[net[2].weight]["step"] == 2


def test_groups_that_cannot_be_matched():
    """Nothing in common: the saved sizes and shapes are listed."""
    net = network()
    other = nn.Sequential(nn.Linear(9, 9), nn.Linear(9, 9), nn.Linear(9, 9))
    optimizer = adam(other)
    other(torch.ones(1, 9)).sum().backward()
    optimizer.step()
    finding = only({"optimizer": optimizer.state_dict()}, net, adam(net))
    assert finding.severity == "error"
    assert "[9, 9]" in finding.fix


def test_state_for_some_parameters_only():
    """Momenta of the others start from zero: a warning; for frozen ones it is as it should be."""
    net = network()
    checkpoint = saved()
    del checkpoint["optimizer"]["state"][3]
    finding = only(checkpoint, net, adam(net))
    assert (finding.rule, finding.severity) == ("AG409", "warning")
    assert finding.subjects == ("2.bias",)
    assert not raises(checkpoint, net, adam(net))
    net[2].bias.requires_grad_(False)
    assert "AG409" not in {f.rule for f in findings(checkpoint, net, adam(net))}


def test_settings_are_replaced():
    """The checkpoint's learning rate wins: info, with the lines that set yours again."""
    net = network()
    checkpoint = saved()
    optimizer = adam(net, lr=0.5, betas=(0.5, 0.9))
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG409", "info")
    assert "lr 0.5 becomes 0.001" in finding.message
    repaired(finding, checkpoint, net, optimizer)
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert optimizer.param_groups[0]["betas"] == (0.5, 0.9)


def test_settings_that_a_scheduler_added():
    """initial_lr on one side only is no difference; nor is a learning rate kept in a tensor."""
    net = network()
    checkpoint = saved()
    optimizer = adam(net)
    torch.optim.lr_scheduler.StepLR(optimizer, 10)
    sound(checkpoint, net, optimizer)
    checkpoint["optimizer"]["param_groups"][0]["lr"] = torch.tensor(0.1)
    sound(checkpoint, net, optimizer)
    one_step(net, optimizer)
    sound({"model": net.state_dict(), "optimizer": optimizer.state_dict()}, net, adam(net))


def test_many_parameters_give_a_fix_that_can_still_be_pasted():
    """Lists of names are broken over lines."""
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(60)])
    first = torch.optim.Adam([{"params": net[:30].parameters()}, {"params": net[30:].parameters()}])
    checkpoint = saved(net, first)
    optimizer = adam(net)
    finding = only(checkpoint, net, optimizer)
    assert max(map(len, finding.fix.split("\n"))) <= 120
    repaired(finding, checkpoint, net, optimizer)

"""AG403: parameters that were given another shape while their optimizer keeps state for the old one."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, inspected, summary, trained
from .twins import calm

KEPT = torch.tensor([0, 2, 3])


def pruned(shrink, *, after=lambda layer, optimizer: optimizer, kind=torch.optim.Adam):
    layer = nn.Linear(4, 6)
    optimizer = kind(layer.parameters(), lr=0.1)
    for step in range(3):
        if step == 1:
            shrink(layer)
            layer.zero_grad()
            optimizer = after(layer, optimizer)
        trained(optimizer, layer(torch.ones(3, 4)).pow(2).mean())


def chosen(layer):
    layer.weight.data = layer.weight.data[KEPT]
    layer.bias.data = layer.bias.data[KEPT].clone()


def sliced(layer):
    layer.weight.data = layer.weight.data[:3]
    layer.bias.data = layer.bias.data[:3]


def started_anew(layer, _):
    return torch.optim.Adam(layer.parameters(), lr=0.1)


def dropped(layer, optimizer):
    for parameter in layer.parameters():
        optimizer.state.pop(parameter)
    return optimizer


def cut_as_well(layer, optimizer):
    for parameter in layer.parameters():
        for name, value in optimizer.state[parameter].items():
            if value.dim():
                optimizer.state[parameter][name] = value[KEPT]
    return optimizer


def test_rows_pruned_under_an_optimizer():
    """The assignment that changed the shape is shown, not the optimizer: nothing was loaded."""
    finding = diagnosed(
        lambda: pruned(chosen), "AG403", "layer.weight.data = layer", "weight", "bias", "exp_avg",
        severity="error", where=chosen,
    )  # fmt: skip
    assert "loaded" not in finding.fix
    assert any(place.role == "stepped with the old state here" for place in finding.locations)


def test_rows_pruned_by_a_slice():
    """A slice of the old memory is another shape as well."""
    diagnosed(
        lambda: pruned(sliced), "AG403", "layer.weight.data = layer", "weight", "exp_avg",
        severity="error", where=sliced,
    )  # fmt: skip


def test_embedding_that_grows():
    """More rows than the momentum has: where the embedding grew is told."""

    def sick():
        table = nn.Embedding(6, 4)
        optimizer = torch.optim.SGD(table.parameters(), lr=0.1, momentum=0.9)
        trained(optimizer, table(torch.arange(6)).sum())
        optimizer.zero_grad()
        table.weight.data = torch.cat([table.weight.data, torch.zeros(2, 4)])
        trained(optimizer, table(torch.arange(8)).sum())

    diagnosed(sick, "AG403", "table.weight.data = torch.cat", "weight", "momentum_buffer", severity="error")


def test_resumed_before_the_shape_changed():
    """State that was loaded and fitted is not the load's fault when the shape changes later."""

    def program():
        layer = nn.Linear(4, 6)
        optimizer = torch.optim.Adam(layer.parameters())
        trained(optimizer, layer(torch.ones(3, 4)).sum())
        optimizer.load_state_dict(optimizer.state_dict())
        layer.weight.data = layer.weight.data[:, :2]
        layer.zero_grad()
        trained(optimizer, layer(torch.ones(3, 2)).sum())

    diagnosed(program, "AG403", "layer.weight.data = layer", "weight", "exp_avg", severity="error")


def test_state_that_follows_the_shape():
    """A new optimizer, fresh state, or state that is cut as well fits; no state always does."""
    after = (started_anew, dropped, cut_as_well)
    calm(
        *(lambda shrink=shrink, way=way: pruned(shrink, after=way) for shrink in (chosen, sliced) for way in after[:2]),
        lambda: pruned(chosen, after=cut_as_well),
        lambda: pruned(chosen, kind=torch.optim.SGD),
    )


class Cloud:
    """Points that training adds to, each group of the optimizer with one parameter."""

    def __init__(self):
        self.xyz = nn.Parameter(torch.ones(4, 3))
        self.alpha = nn.Parameter(torch.ones(4, 1))
        groups = [{"params": [self.xyz], "name": "xyz"}, {"params": [self.alpha], "name": "alpha"}]
        self.optimizer = torch.optim.Adam(groups, lr=0.1)

    def loss(self):
        return (self.xyz.pow(2).sum(1, keepdim=True) * self.alpha).sum()

    def grow(self, kinds):
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            state = self.optimizer.state.pop(old)
            for kind in kinds:
                state[kind] = torch.cat([state[kind], torch.zeros(2, old.shape[1])])
            group["params"][0] = nn.Parameter(torch.cat([old.detach(), torch.ones(2, old.shape[1])]))
            self.optimizer.state[group["params"][0]] = state
            setattr(self, group["name"], group["params"][0])


def densified(*kinds):
    cloud = Cloud()
    for step in range(4):
        cloud.loss().backward()
        if step == 2:
            cloud.grow(kinds)
            continue
        cloud.optimizer.step()
        cloud.optimizer.zero_grad()


def test_points_added_without_all_of_their_state():
    """The program put the state where it is: its lines are told, nothing was loaded, and nothing is in no optimizer."""
    finding = diagnosed(
        lambda: densified("exp_avg"), "AG403", "state[kind] = torch.cat", "exp_avg_sq", "xyz",
        severity="error", where=Cloud.grow,
    )  # fmt: skip
    assert "loaded" not in finding.fix
    assert "self.optimizer.state.pop(parameter)" in finding.fix
    assert any("self.optimizer.state[group" in place.source for place in finding.locations)
    report = inspected(lambda: densified("exp_avg"))
    assert [f.rule for f in report.findings] == ["AG403"], summary(report)


def test_points_added_with_their_state():
    """State that grows with the parameter fits."""
    calm(lambda: densified("exp_avg", "exp_avg_sq"))
    report = inspected(lambda: densified("exp_avg", "exp_avg_sq"))
    assert not report.findings, summary(report)


def test_a_helper_that_two_optimizers_are_given():
    """What it does to the second is looked for on its lines too, though only the first was seen to be its argument."""

    def restore(holder):
        for entry in holder.state.values():
            entry["exp_avg"] = torch.zeros(3)

    one, other = nn.Linear(2, 1, bias=False), nn.Linear(4, 1, bias=False)
    optimizers = [torch.optim.Adam(net.parameters()) for net in (one, other)]

    def program():
        (one(torch.ones(1, 2)) + other(torch.ones(1, 4))).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
        for optimizer in optimizers:
            restore(optimizer)

    findings = [finding for finding in inspected(program).findings if finding.rule == "AG403"]
    roles = [[place.role for place in finding.locations if "zeros(3)" in place.source] for finding in findings]
    assert roles == [["state is assigned here"], ["state may be assigned here"]]

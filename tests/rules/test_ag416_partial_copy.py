"""AG416: target networks and averages of which a part stays behind."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def follow(target, net):
    with torch.no_grad():
        for t, p in zip(target.parameters(), net.parameters(), strict=True):
            t.lerp_(p, 0.1)  # followed


def test_target_that_follows_in_part():
    """The layers that are left out are named; nothing is said where all follow, or the rest is frozen in both."""

    def program(part, *, body=True):
        net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
        net[0].requires_grad_(body)
        target = copy.deepcopy(net).requires_grad_(False)
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
        for _ in range(3):
            trained(optimizer, (net(X) - target(X) - 1).pow(2).mean())
            follow(part(target), part(net))

    diagnosed(
        lambda: program(lambda model: model[2]),
        "AG416",
        "# followed",
        "target.0.weight",
        severity="warning",
        where=follow,
    )
    calm(lambda: program(lambda model: model), lambda: program(lambda model: model[2], body=False))


def test_average_without_statistics():
    """In eval mode the average normalizes with statistics of the first weights, unless they are copied as well."""

    def program(*, buffers):
        net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))
        average = copy.deepcopy(net).requires_grad_(False).eval()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            trained(optimizer, net(X).pow(2).mean())
            follow(average, net)
            for a, b in zip(average.buffers(), net.buffers(), strict=True) if buffers else ():
                a.copy_(b)
        with torch.no_grad():
            average(X)

    finding = diagnosed(
        lambda: program(buffers=False), "AG416", "# followed", "running_mean", severity="warning", where=follow
    )
    assert "update_bn" in finding.fix
    assert "for t, p in zip(" in "".join(place.source for place in finding.locations)
    calm(lambda: program(buffers=True))


def test_average_that_waits():
    """It is in eval mode and nothing calls it: its statistics stay behind. In train mode it may measure them yet."""

    class Average:
        def __init__(self, net, mode):
            self.model = mode(copy.deepcopy(net).requires_grad_(False))

        @torch.no_grad()
        def update(self, net, how):
            how(list(self.model.parameters()), list(net.parameters()))

    def data(mine, its):
        for a, b in zip(mine, its, strict=True):
            a.data.mul_(0.9).add_(b.data, alpha=0.1)

    def at_once(mine, its):
        torch._foreach_lerp_(mine, its, 0.1)

    def program(how=data, mode=nn.Module.eval, *, norm=nn.BatchNorm1d, after=lambda average, net: None):
        net = nn.Sequential(nn.Linear(4, 6), norm(6), nn.Linear(6, 1))
        average = Average(net, mode)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            trained(optimizer, net(X).pow(2).mean())
            average.update(net, how)
        after(average.model, net)
        return average.model.state_dict()

    def copied(average, net):
        for a, b in zip(average.buffers(), net.buffers(), strict=True):
            a.copy_(b)

    def loaded(average, net):
        average.load_state_dict(net.state_dict())

    def measured(average, _net):
        update_bn([X], average)

    def back_in_train_mode(average, _net):
        average.train()

    def loop(average, net):
        for a, b in zip(average, net, strict=True):
            a.data.lerp_(b.data, 0.1)  # looped

    finding = diagnosed(
        lambda: program(loop), "AG416", "# looped", "average.model.1.running_mean", "is in eval mode",
        severity="warning", where=loop,
    )  # fmt: skip
    assert "updates the parameters of that copy" in finding.message
    diagnosed(lambda: program(at_once), "AG416", "_foreach_lerp_", "running_var", severity="warning", where=at_once)
    calm(
        lambda: program(mode=nn.Module.train),
        lambda: program(norm=nn.LayerNorm),
        *(lambda after=after: program(after=after) for after in (copied, loaded, measured, back_in_train_mode)),
    )


def test_statistics_of_the_wrong_model():
    """update_bn() is given the net, the average is evaluated: unless both are measured, or the net is used as well."""

    def evaluated(model):
        model.eval()
        with torch.no_grad():
            model(X)

    def program(finish):
        net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))
        average = AveragedModel(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            net.train()
            trained(optimizer, net(X).pow(2).mean())
            average.update_parameters(net)
        finish(net, average)

    def wrong(net, average):
        update_bn([X], net)  # measured
        evaluated(average)

    def right(_net, average):
        update_bn([X], average)
        evaluated(average)

    def both(net, average):
        update_bn([X], average)
        update_bn([X], net)
        evaluated(average)

    def net_as_well(net, average):
        update_bn([X], net)
        evaluated(net)
        evaluated(average)

    def net_is_saved(net, average):
        update_bn([X], net)
        net.state_dict()
        evaluated(average)

    def copied(net, average):
        update_bn([X], net)
        average.update_parameters(net)
        evaluated(average)

    def nothing_measured(_net, average):
        evaluated(average)

    finding = diagnosed(lambda: program(wrong), "AG416", "# measured", "running_mean", severity="warning", where=wrong)
    assert "update_bn(loader, average)" in finding.fix
    calm(*(lambda end=end: program(end) for end in (right, both, net_as_well, net_is_saved, copied, nothing_measured)))


def test_target_that_nothing_calls():
    """Beside the target of the one critic the other critic itself is called; an average waits for its evaluation."""

    class Agent(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(4, 1), nn.Linear(4, 1)
            self.old_one, self.old_two = copy.deepcopy(self.one), copy.deepcopy(self.two)
            self.value = nn.Linear(4, 1)

    def value_loss(agent, second):
        first = agent.old_one(X)
        other = second(agent)(X)  # called
        return (torch.minimum(first, other) - agent.value(X)).pow(2).mean()

    def program(second, *, waits=False):
        agent = Agent()
        agent.old_one.requires_grad_(False)
        agent.old_two.requires_grad_(False)
        optimizer = torch.optim.SGD([p for p in agent.parameters() if p.requires_grad], lr=0.1)
        for _ in range(3):
            own = (agent.one(X) - 1).pow(2).mean() + (agent.two(X) - 1).pow(2).mean()
            trained(optimizer, own + (agent.value(X).pow(2).mean() if waits else value_loss(agent, second)))
            for net, target in ((agent.one, agent.old_one), (agent.two, agent.old_two)):
                follow(target, net)

    diagnosed(
        lambda: program(lambda agent: agent.two), "AG416", "# called", "old_two", severity="warning", where=value_loss
    )
    calm(lambda: program(lambda agent: agent.old_two), lambda: program(lambda agent: agent.two, waits=True))

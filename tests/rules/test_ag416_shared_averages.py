"""AG416: averages of the weights that two parameters share."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


def whole(name):
    return name


def without_dots(name):
    return name.replace(".", "")


def member(name):
    return name.partition(".")[2]


def network():
    """Two layers of it have the same name without dots: `1.10` and `11.0`."""
    return nn.ModuleList([nn.ModuleList([nn.Linear(3, 3) for _ in range(11 if i == 1 else 1)]) for i in range(12)])


def run(net):
    x = X
    for stage in net:
        for layer in stage:
            x = x + 0.1 * layer(x).tanh()
    return x


def interpolated(average, p):
    average.lerp_(p, 0.1)  # Mixed.


def by_difference(average, p):
    average.sub_(0.1 * (average - p))  # Mixed.


def assigned(average, p):
    average.copy_(0.9 * average + 0.1 * p)  # Mixed.


def in_two_calls(average, p):
    average.mul_(0.9).add_(p, alpha=0.1)  # Mixed.


def program(key, update, net=network, call=run, *, back=True):
    net = net()
    averages = {key(name): p.detach().clone() for name, p in net.named_parameters()}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        trained(optimizer, call(net).pow(2).mean())
        with torch.no_grad():
            for name, p in net.named_parameters():
                update(averages[key(name)], p)
    if back:
        with torch.no_grad():
            for name, p in net.named_parameters():
                p.copy_(averages[key(name)])
            call(net)


def test_two_parameters_share_an_average():
    """Their keys are the same: each update mixes the one with the other, and both get the same values."""
    for update in (interpolated, by_difference, assigned, in_two_calls):
        finding = diagnosed(
            lambda update=update: program(without_dots, update), "AG416", "p.detach().clone()", "net.1.10.weight",
            "net.11.0.weight", "share one average", severity="warning", where=program,
        )  # fmt: skip
        assert any("# Mixed." in location.source for location in finding.locations)


def test_an_average_a_parameter():
    """Under its full name; a tied parameter has one as well."""

    def tied():
        net = network()
        net[11][0].weight = net[1][10].weight
        net[11][0].bias = net[1][10].bias
        return net

    calm(
        *(
            lambda update=update: program(whole, update)
            for update in (interpolated, by_difference, assigned, in_two_calls)
        ),
        lambda: program(without_dots, interpolated, tied),
    )


def test_averages_that_are_to_be_shared():
    """Members of an ensemble have one average; figures are no weights; or nothing copies the average back."""

    def ensemble():
        return nn.ModuleList([nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(3)])

    def mean(net):
        return sum(each(X) for each in net)

    def clients():
        nets = [nn.Linear(3, 1) for _ in range(3)]
        for _ in range(2):
            for net in nets:
                trained(torch.optim.SGD(net.parameters(), lr=0.1), net(X).pow(2).mean())
            with torch.no_grad():
                shared = {name: torch.zeros_like(p) for name, p in nets[0].named_parameters()}
                for net in nets:
                    for name, p in net.named_parameters():
                        shared[name] += p / len(nets)
                for net in nets:
                    for name, p in net.named_parameters():
                        p.copy_(shared[name])

    def norms():
        net, size = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)), torch.zeros(())
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())
            for p in net.parameters():
                size.lerp_(p.detach().norm(), 0.1)

    calm(
        lambda: program(member, interpolated, ensemble, mean),
        lambda: program(without_dots, interpolated, back=False),
        clients,
        norms,
    )

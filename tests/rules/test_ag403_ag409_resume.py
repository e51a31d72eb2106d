"""AG403 and AG409: optimizer state that does not fit after a resume, or is missing."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def network(width=6):
    return nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 2))


def one_step(net, optimizer):
    trained(optimizer, net(X).pow(2).mean())


def checkpoint_of(net, kind=torch.optim.Adam, **settings):
    optimizer = kind(net.parameters(), **settings)
    one_step(net, optimizer)
    return copy.deepcopy(optimizer.state_dict())


def test_state_of_another_width():
    """load_state_dict checks no shapes: the step fails with anonymous tensors a and b."""

    def program(width):
        checkpoint = checkpoint_of(network(6))
        net = network(width)
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    diagnosed(
        lambda: program(8), "AG403", "optimizer.load_state_dict", "exp_avg", "0.weight", severity="error", where=program
    )
    calm(lambda: program(6))


def test_parameters_in_another_order():
    """State is matched by position: groups in another order give each parameter the state of another."""

    def program(order):
        net = network()
        decay, rest = [p for p in net.parameters() if p.dim() > 1], [p for p in net.parameters() if p.dim() == 1]
        first = torch.optim.AdamW([{"params": decay}, {"params": rest, "weight_decay": 0.0}])
        one_step(net, first)
        groups = {"same": [{"params": decay}, {"params": rest}], "swapped": [{"params": rest}, {"params": decay}]}
        resumed = torch.optim.AdamW(groups[order])
        resumed.load_state_dict(first.state_dict())
        one_step(net, resumed)

    diagnosed(
        lambda: program("swapped"), "AG403", "resumed.load_state_dict", "exp_avg", severity="error", where=program
    )
    calm(lambda: program("same"))


def test_equal_shapes_in_another_order():
    """Where shapes agree nothing raises: the state of one layer serves another."""

    def program(*, swap):
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        first = torch.optim.Adam([*net[0].parameters(), *net[1].parameters()])
        for _ in range(2):
            one_step(net, first)
        order = (1, 0) if swap else (0, 1)
        resumed = torch.optim.Adam([p for i in order for p in net[i].parameters()])
        resumed.load_state_dict(first.state_dict())
        one_step(net, resumed)

    diagnosed(
        lambda: program(swap=True), "AG403", "resumed.load_state_dict", "0.weight", "1.weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(swap=False))


def test_momentum_of_another_optimizer():
    """SGD's checkpoint in Adam: its groups lose betas, and the state has no exp_avg."""

    def program(kind):
        net = network()
        checkpoint = checkpoint_of(net, torch.optim.SGD, lr=0.1, momentum=0.9)
        optimizer = kind(net.parameters(), lr=0.1)
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    def healthy():
        program(torch.optim.SGD)

    diagnosed(
        lambda: program(torch.optim.Adam),
        "AG403",
        "optimizer.load_state_dict",
        "momentum_buffer",
        severity="error",
        where=program,
    )
    calm(healthy)


def test_group_that_grew():
    """A checkpoint of fewer parameters is refused; added as a group after loading it is accepted."""

    def sick():
        net = network()
        checkpoint = checkpoint_of(net)
        net.append(nn.Linear(2, 2))
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.load_state_dict(checkpoint)

    def healthy():
        net = network()
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.load_state_dict(checkpoint_of(net))
        net.append(nn.Linear(2, 2))
        optimizer.add_param_group({"params": net[3].parameters()})
        for _ in range(2):
            one_step(net, optimizer)

    diagnosed(sick, "AG409", "net.append(", "3.weight", severity="error", besides=())
    calm(healthy)


def test_group_count():
    """A checkpoint with one group does not fit an optimizer with two."""

    def sick():
        net = network()
        checkpoint = checkpoint_of(net)
        optimizer = torch.optim.Adam([{"params": net[0].parameters()}, {"params": net[2].parameters(), "lr": 0.1}])
        optimizer.load_state_dict(checkpoint)

    diagnosed(sick, "AG409", "optimizer.load_state_dict", "group", severity="error")


def test_parameters_that_were_only_regrouped():
    """No parameter is new: the state is handed over from an optimizer with the saved groups, as the fix says."""

    def program(*, handed):
        net = network()
        checkpoint = checkpoint_of(net)
        groups = [{"params": net[0].parameters()}, {"params": net[2].parameters(), "lr": 0.1}]
        optimizer = torch.optim.Adam(groups)
        if handed:
            old = torch.optim.Adam(net.parameters())
            old.load_state_dict(checkpoint)
            optimizer.state.update(old.state)
        else:
            optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    finding = diagnosed(
        lambda: program(handed=False), "AG409", "optimizer.load_state_dict", "[4]", "[2, 2]", severity="error",
        where=program,
    )  # fmt: skip
    for statement in (
        "`old = torch.optim.Adam(net.parameters())`",
        "`old.load_state_dict(checkpoint)`",
        "`optimizer.state.update(old.state)`",
    ):
        assert statement in finding.fix
    assert "new ones" not in finding.fix
    calm(lambda: program(handed=True))


def test_state_of_some_parameters():
    """A checkpoint in which some parameters never had a gradient leaves them without state; that is worth a look."""

    def sick():
        net = network()
        first = torch.optim.Adam(net.parameters())
        one_step(net, first)
        checkpoint = copy.deepcopy(first.state_dict())
        for number in (2, 3):
            checkpoint["state"].pop(number)
        resumed = torch.optim.Adam(net.parameters())
        resumed.load_state_dict(checkpoint)
        one_step(net, resumed)

    def healthy():
        net = network()
        resumed = torch.optim.Adam(net.parameters())
        resumed.load_state_dict(torch.optim.Adam(network().parameters()).state_dict())
        one_step(net, resumed)

    diagnosed(sick, "AG409", "resumed.load_state_dict", "2.weight", severity="warning")
    calm(healthy)


def test_state_never_loaded():
    """A model resumed without its optimizer is a choice; nothing is said."""

    def program():
        net = network()
        checkpoint_of(net)
        again = network()
        again.load_state_dict(net.state_dict())
        optimizer = torch.optim.Adam(again.parameters())
        for _ in range(2):
            one_step(again, optimizer)

    calm(program)

"""AG205: new values of parameters that nothing uses."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, prune

from .programs import diagnosed, inspected
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def made():
    net = nn.Linear(4, 2)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def step(net, optimizer):
    optimizer.zero_grad()
    net(X).pow(2).mean().backward()
    optimizer.step()


def never_clipped():
    net, optimizer = made()
    step(net, optimizer)
    for p in net.parameters():
        p.data.clamp(-0.01, 0.01)  # Dropped.


def never_decayed():
    net, optimizer = made()
    step(net, optimizer)
    with torch.no_grad():
        net.weight.mul(0.9)  # Dropped.


def never_followed():
    net, optimizer = made()
    target = copy.deepcopy(net)
    for _ in range(2):
        step(net, optimizer)
        with torch.no_grad():
            for old, new in zip(target.parameters(), net.parameters(), strict=True):
                old = 0.9 * old + 0.1 * new  # Dropped.  # noqa: PLW2901 - the fault


def added_to_a_variable():
    net, optimizer = made()
    step(net, optimizer)
    for p in net.parameters():
        p.data = p.data
        q = p.data + 0.01 * torch.randn_like(p)  # Dropped.  # noqa: F841 - the fault


@pytest.mark.parametrize("program", [never_clipped, never_decayed, never_followed, added_to_a_variable])
def test_new_value_that_is_thrown_away(program):
    """Out of place, and the result is dropped, or a variable gets it that the next round overwrites."""
    diagnosed(program, "AG205", "Dropped.", "weight", "nothing uses", severity="warning")


def averaged(old, new):
    return 0.9 * old + 0.1 * new


def test_an_average_that_a_function_returns_to_a_name():
    """The line that gives it its last name comes first, then the one that computed it."""

    def follow(target, net):
        for old, new in zip(target.parameters(), net.parameters(), strict=True):
            value = old.data
            average = averaged(value, new.data)
            value = average  # Dropped.

    def program():
        net, optimizer = made()
        target = copy.deepcopy(net)
        for _ in range(2):
            step(net, optimizer)
            follow(target, net)

    finding = diagnosed(program, "AG205", "Dropped.", "averaged", "weight", severity="warning", where=follow)
    assert any("0.9 * old" in place.source for place in finding.locations)


def test_averages_that_a_function_returns_and_somebody_takes():
    """Written back, given as `.data`, or kept by the function itself."""
    history = []

    def remembered(value):
        history.append(value * 0.5)
        return history[-1]

    def follows(take):
        def program():
            net, optimizer = made()
            target = copy.deepcopy(net)
            for _ in range(2):
                step(net, optimizer)
                with torch.no_grad():
                    for old, new in zip(target.parameters(), net.parameters(), strict=True):
                        take(old, new)

        return program

    def copied(old, new):
        old.copy_(averaged(old, new))

    def assigned(old, new):
        old.data = averaged(old.data, new.data)

    def kept(old, new):
        remembered(new)

    calm(*map(follows, (copied, assigned, kept)))


def test_one_finding_for_a_line():
    """A helper that is called for several models is told once."""

    def follow(target, net):
        with torch.no_grad():
            for old, new in zip(target.parameters(), net.parameters(), strict=True):
                old = torch.lerp(old, new, 0.1)  # Dropped.  # noqa: PLW2901 - the fault

    def program():
        pairs = [(nn.Linear(4, 2), nn.Linear(4, 2)) for _ in range(2)]
        for target, net in pairs:
            follow(target, net)

    diagnosed(program, "AG205", "Dropped.", severity="warning", where=follow)


def looked_at():
    net, _ = made()
    for p in net.parameters():
        doubled = p.data * 2
        print(doubled)
        tripled = p.data * 3
        print(f"{tripled}")
        assert torch.equal(p.data * 4, 4 * p.data)
        assert torch.allclose(input=p.data + 1, other=1 + p.data)


def kept():
    net, _ = made()
    average = {name: p.detach() * 0.5 for name, p in net.named_parameters()}
    halves = [p.detach() * 0.5 for p in net.parameters()]
    net.noise = net.weight.detach() + 1
    return average, halves


def shadowed():
    net, optimizer = made()
    shadow = {name: p.detach().clone() for name, p in net.named_parameters()}
    step(net, optimizer)
    for name, p in net.named_parameters():
        shadow[name] = 0.9 * shadow[name] + 0.1 * p.detach()


def written():
    net, optimizer = made()
    step(net, optimizer)
    with torch.no_grad():
        for p in net.parameters():
            new = p * 0.9
            p.copy_(new)
            p.clamp_(-1, 1)


def descended():
    weight = nn.Parameter(torch.randn(4, 2))
    for _ in range(3):
        (gradient,) = torch.autograd.grad((X @ weight).pow(2).mean(), weight)
        weight = (weight - 0.1 * gradient).detach().requires_grad_()


def pruned():
    net, _ = made()
    prune.l1_unstructured(net, "weight", amount=0.5)
    prune.remove(net, "weight")


def measured():
    net, _ = made()
    for p in net.parameters():
        norm = p.norm()  # noqa: F841 - unused, and no new value
        copied = p.detach().clone()  # noqa: F841 - unused, and no new value
    return


def averaged_in_place():
    net, optimizer = made()
    average = {}
    for _ in range(3):
        step(net, optimizer)
        with torch.no_grad():
            for name, p in net.named_parameters():
                average[name] = p.clone() if name not in average else average[name].lerp_(p, 0.1)


@pytest.mark.parametrize(
    "program", [looked_at, kept, averaged_in_place, shadowed, written, descended, pruned, measured]
)
def test_values_that_are_used(program):
    """Printed, compared, kept in a container or an attribute, written back, gone on with, or no new value at all."""
    calm(program)


def initialized_computed():
    net = parametrizations.weight_norm(nn.Linear(4, 2))
    nn.init.zeros_(net.weight)  # Dropped.
    step(net, torch.optim.SGD(net.parameters(), lr=0.1))


def masked_computed():
    net = parametrizations.spectral_norm(nn.Linear(4, 2))
    with torch.no_grad():
        net.weight.mul_(0.5)  # Dropped.
    step(net, torch.optim.SGD(net.parameters(), lr=0.1))


@pytest.mark.parametrize("program", [initialized_computed, masked_computed])
def test_a_write_to_what_is_computed_at_each_access(program):
    """The attribute gives another tensor each time: what was written is gone."""
    diagnosed(program, "AG205", "Dropped.", "original", "nothing reads", severity="warning")


def drawn_computed():
    net = parametrizations.weight_norm(nn.Linear(4, 2))
    nn.init.normal_(net.weight)  # Dropped.
    step(net, torch.optim.SGD(net.parameters(), lr=0.1))


def test_random_numbers_that_are_lost():
    """The parameters begin with other random numbers: worth an info."""
    calm(drawn_computed)
    assert [(each.rule, each.severity) for each in inspected(drawn_computed).findings] == [("AG205", "info")]


def test_a_line_that_writes_parameters_too():
    """The initializer of all layers gets no edit: what holds a parameter refuses the assignment of a tensor."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), parametrizations.weight_norm(nn.Linear(4, 2)))
        for layer in net:
            nn.init.zeros_(layer.weight)  # Dropped.
        step(net, torch.optim.SGD(net.parameters(), lr=0.1))

    assert diagnosed(program, "AG205", "Dropped.", "nothing reads", severity="warning").edits == ()


def initialized():
    net, optimizer = made()
    net.weight.data.normal_()
    nn.init.zeros_(net.bias)
    step(net, optimizer)


def scratch():
    net, optimizer = made()
    step(net, optimizer)
    with torch.no_grad():
        scaled = (net.weight * 2).add_(1)
        print(scaled.sum().item())
        noisy = net.weight * 1
        noisy.add_(torch.randn_like(noisy))
        net.weight.copy_(noisy)


def before_it_is_registered():
    net = nn.Linear(4, 2)
    nn.init.zeros_(net.bias)
    net = parametrizations.weight_norm(net)
    with torch.no_grad():
        net.weight = torch.randn(2, 4)
    step(net, torch.optim.SGD(net.parameters(), lr=0.1))


@pytest.mark.parametrize("program", [initialized, scratch, before_it_is_registered])
def test_writes_that_arrive(program):
    """To a parameter, to a scratch tensor that is used, through the assignment that a parametrization knows."""
    calm(program)


def federated(keep, rounds=2):
    """Clients train copies of the server's model, and what ``keep`` makes of their averages is the next state."""
    server = nn.Linear(4, 2)
    for _ in range(rounds):
        states = []
        for _ in range(2):
            client = copy.deepcopy(server)
            step(client, torch.optim.SGD(client.parameters(), lr=0.1))
            states.append(client.state_dict())
        keep(server, states)


def put_into_a_dictionary(server, states):
    average = server.state_dict()
    for key in average:
        average[key] = torch.stack([state[key] for state in states]).mean(0)  # Dropped.


def test_an_average_that_never_reaches_the_model():
    """An entry of a state_dict() is another tensor from then on; the model keeps its own."""
    diagnosed(
        lambda: federated(put_into_a_dictionary), "AG205", "# Dropped.", "mean", "load_state_dict()",
        severity="warning", where=put_into_a_dictionary,
    )  # fmt: skip


def test_dictionaries_that_are_read_again():
    """Loaded, or averaged on in the next round; what one round left may be used later."""

    def shadowed():
        net, optimizer = made()
        shadow = {name: p.detach().clone() for name, p in net.named_parameters()}
        for _ in range(3):
            step(net, optimizer)
            for name, p in net.named_parameters():
                shadow[name] = 0.9 * shadow[name] + 0.1 * p.detach()

    def averaged(server, states):
        server.load_state_dict({key: torch.stack([state[key] for state in states]).mean(0) for key in states[0]})

    calm(shadowed, lambda: federated(averaged), lambda: federated(put_into_a_dictionary, rounds=1))


def clipped_by(hook):
    def program():
        net, optimizer = made()
        for p in net.parameters():
            p.register_hook(hook)
        for _ in range(2):
            step(net, optimizer)

    return program


def bound(grad):
    grad = grad.clamp(-0.01, 0.01)  # Dropped in a hook.


def dropped(grad):
    grad.clamp(-0.01, 0.01)  # Dropped in a hook.


@pytest.mark.parametrize("hook", [bound, dropped])
def test_hook_returns_nothing_of_what_it_computes(hook):
    """The gradient stays as it is, and an edit returns the new one."""
    finding = diagnosed(clipped_by(hook), "AG205", "Dropped in a hook.", "`clamp`", severity="warning", where=hook)
    (edit,) = finding.edits
    assert edit.text.strip() == "return grad.clamp(-0.01, 0.01)"


def test_hooks_that_look_and_hooks_that_return():
    """What is kept, printed, returned on some way, or read further below was not dropped."""
    seen, total = [], torch.zeros(())

    def keeps(grad):
        seen.append(grad.abs())

    def looks(grad):
        share = grad == 0
        scaled = grad / 2
        if share.all():
            print(scaled)

    def returns(grad):
        grad = grad.clamp(-0.01, 0.01)
        return grad if grad.dim() else None

    def adds_up(grad):
        total.add_(grad.norm())

    for hook in (keeps, looks, returns, adds_up, lambda grad: grad.clamp(-0.01, 0.01)):
        calm(clipped_by(hook))


def test_a_term_that_never_joins_the_loss():
    """The loss itself is the old value: what the term was to train gets nothing."""

    def program():
        net, head = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            loss = net(torch.ones(3, 4)).square().mean()
            loss.add(head(torch.ones(3, 4)).square().mean(), alpha=0.4)  # Dropped.
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    diagnosed(program, "AG205", "# Dropped.", "add", "head.weight", severity="warning", where=program)


def test_loss_of_the_shape_of_a_parameter():
    """A loss is used by the backward that begins with it, whatever it was computed from."""

    def program():
        net, weight = nn.Linear(4, 2), nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        of_weight = torch.optim.Adam([weight], lr=0.01)
        for _ in range(3):
            scale = weight.exp().detach()
            out = net(torch.ones(3, 4)).square().mean()
            loss = 1 - scale * out
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            of_weight.zero_grad()
            (weight * out.detach()).sum().backward()
            of_weight.step()

    calm(program)


def projected(project):
    """A flat copy of the gradients is projected in place."""
    net, optimizer = made()
    for _ in range(2):
        optimizer.zero_grad()
        net(X).pow(2).mean().backward()
        with torch.no_grad():
            project(net)
        optimizer.step()


def into_the_copy(net):
    flat = torch.cat([p.grad.view(-1) for p in net.parameters()])
    flat -= (flat @ torch.ones_like(flat)) / len(flat)


def and_back(net):
    flat = torch.cat([p.grad.view(-1) for p in net.parameters()])
    flat.sub_(flat.mean())
    start = 0
    for p in net.parameters():
        p.grad.copy_(flat[start : start + p.numel()].view_as(p))
        start += p.numel()


def test_a_copy_of_the_gradients_that_is_never_copied_back():
    """The projection changes what `cat` returned, and step() takes the gradients."""
    diagnosed(
        lambda: projected(into_the_copy), "AG205", "flat -= ",
        "changes a copy of the gradients", "net.weight", "net.bias",
        severity="warning", where=into_the_copy,
    )  # fmt: skip


def test_a_copy_of_the_gradients_that_is_read():
    """Copied back, printed, or kept, in whatever memory: what was written there was of use."""

    def through_a_view():
        net, optimizer = made()
        net(X).pow(2).mean().backward()
        with torch.no_grad():
            flat = torch.cat([p.grad.view(-1) for p in net.parameters()])
            parts = flat.split([p.numel() for p in net.parameters()])
            flat *= 0.5
            for p, part in zip(net.parameters(), parts, strict=True):
                p.grad.copy_(part.view_as(p))
        optimizer.step()

    def normed():
        net, optimizer = made()
        net(X).pow(2).mean().backward()
        flat = torch.cat([p.grad.view(-1) for p in net.parameters()])
        flat /= len(flat)
        print(flat.norm().item())
        optimizer.step()

    def collected():
        net, optimizer = made()
        kept = []
        net(X).pow(2).mean().backward()
        flat = torch.cat([p.grad.view(-1) for p in net.parameters()])
        flat /= len(flat)
        kept.append(flat)
        optimizer.step()

    def cleared_behind_its_use():
        net, optimizer = made()
        net(X).pow(2).mean().backward()
        copied = net.weight.grad.clone()
        print(copied.norm().item())
        copied.zero_()
        optimizer.step()

    calm(lambda: projected(and_back), through_a_view, cleared_behind_its_use)
    calm(normed, collected)

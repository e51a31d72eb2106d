"""AG109: a copy is only in the way where something learns beside it; what went into it may be all that is asked for."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, inspected, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.randint(0, 2, (8,), generator=torch.Generator().manual_seed(2))


def classifier():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def found(program):
    report = inspected(program)
    assert not report.capture.error, summary(report)
    return [(finding.rule, finding.severity) for finding in alarms(report)]


def saliency(looked_at):
    x = X.clone().requires_grad_()
    looked_at(x).max(1).values.sum().backward()
    return x.grad.abs()


def example(looked_at):
    x = X.clone().requires_grad_()
    F.cross_entropy(looked_at(x), Y).backward()
    return (x + 0.1 * x.grad.sign()).detach()


def maps_beside_training():
    net, optimizer = classifier()
    snapshot = copy.deepcopy(net)
    for _ in range(3):
        saliency(snapshot)
        trained(optimizer, F.cross_entropy(net(X), Y))
        saliency(snapshot)


def adversarial_training():
    net, optimizer = classifier()
    snapshot = copy.deepcopy(net)
    for _ in range(3):
        snapshot.load_state_dict(net.state_dict())
        trained(optimizer, F.cross_entropy(net(example(snapshot)), Y))


def consistent_with_an_average():
    net, optimizer = classifier()
    average = copy.deepcopy(net)
    for _ in range(3):
        towards = example(average)
        with torch.no_grad():
            target = average(towards)
        trained(optimizer, F.mse_loss(net(X), target))
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), net.parameters(), strict=True):
                slow.lerp_(fast, 0.1)


def model_of_a_moment():
    net, optimizer = classifier()
    for _ in range(3):
        trained(optimizer, F.cross_entropy(net(X), Y))
    fantasy, x = copy.deepcopy(net), X.clone().requires_grad_()
    fantasy(x).sum().backward()
    return x


def image_of_a_class():
    net, optimizer = classifier()
    trained(optimizer, F.cross_entropy(net(X), Y))
    snapshot, image = copy.deepcopy(net), torch.randn(1, 4, requires_grad=True)
    painting = torch.optim.Adam([image], lr=0.1)
    for _ in range(3):
        trained(painting, -snapshot(image)[0, 0])


def policy_judged_by_the_slow_critic():
    critic, policy = nn.Linear(6, 1), nn.Linear(4, 2)
    slow = copy.deepcopy(critic)
    judging, acting = torch.optim.Adam(critic.parameters()), torch.optim.Adam(policy.parameters())
    for _ in range(3):
        trained(judging, critic(torch.cat([X, torch.rand(8, 2)], 1)).pow(2).mean())
        trained(acting, -slow(torch.cat([X, policy(X)], 1)).mean())


def another_network_explained():
    net, optimizer = classifier()
    pretrained = nn.Linear(4, 3)
    for _ in range(3):
        saliency(pretrained)
        trained(optimizer, F.cross_entropy(net(X), Y))


@pytest.mark.parametrize(
    "program",
    [
        maps_beside_training,
        adversarial_training,
        consistent_with_an_average,
        model_of_a_moment,
        image_of_a_class,
        policy_judged_by_the_slow_critic,
        another_network_explained,
    ],
)
def test_gradients_of_what_went_in(program):
    """A loss that trains nothing, and one that trains something through the copy alone, need the copy's graph."""
    calm(program)


def test_copy_beside_what_learns():
    """A target that is differentiated stays one, whatever else the copy is good for."""

    def program():
        net, optimizer = classifier()
        target = copy.deepcopy(net)
        for _ in range(3):
            trained(optimizer, (net(X) - target(X)).pow(2).mean())
            saliency(target)

    assert found(program) == [("AG109", "warning")]


def second_copy():
    net, optimizer = classifier()
    other = copy.deepcopy(net)
    for _ in range(3):
        trained(optimizer, F.cross_entropy(net(X), Y))
        F.cross_entropy(other(X + 1), Y).backward()


def adversarially(model, optimizer):
    for _ in range(3):
        F.cross_entropy(model(example(model)), Y).backward()
        net, own = optimizer
        trained(own, F.cross_entropy(net(X), Y))


def critic_with_a_penalty():
    generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.Adam(generator.parameters())
    for _ in range(3):
        between = torch.randn(8, 4, requires_grad=True)
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        (critic(generator(X).detach()).mean() + critic(between).mean() + slope.pow(2).mean()).backward()
        trained(optimizer, -critic(generator(X)).mean())


@pytest.mark.parametrize(
    "program",
    [second_copy, lambda: adversarially(nn.Linear(4, 2), classifier()), critic_with_a_penalty],
    ids=["copy", "adversarial", "critic"],
)
def test_models_whose_optimizer_was_forgotten(program):
    """Their own losses ask for no input's gradient: they are trained, and nobody steps them."""
    assert found(program) == [("AG404", "warning")]

"""AG109: gradient that flows into a copy which learns by other means."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def q_learning(target_of, bootstrap):
    online = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    target = target_of(online)
    optimizer = torch.optim.Adam(online.parameters(), 1e-2)
    for step in range(4):
        chosen = online(X).gather(1, torch.randint(0, 2, (8, 1)))
        trained(optimizer, F.smooth_l1_loss(chosen, 1 + 0.9 * bootstrap(target)))
        if step % 2:
            target.load_state_dict(online.state_dict())


def attached(target):
    return target(X).max(1, keepdim=True).values


def detached(target):
    return target(X).max(1, keepdim=True).values.detach()


def without_grad(target):
    with torch.no_grad():
        return target(X).max(1, keepdim=True).values


def frozen_copy(online):
    return copy.deepcopy(online).requires_grad_(False)


def fresh_and_loaded(online):
    target = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    target.load_state_dict(online.state_dict())
    return target


def test_target_network_of_q_learning():
    """The bootstrap value of a deep-copied or loaded target network must not be differentiated."""
    for make in (copy.deepcopy, fresh_and_loaded):
        diagnosed(
            lambda make=make: q_learning(make, attached), "AG109", "return target(X)", "target",
            severity="warning", where=attached,
        )  # fmt: skip
        calm(lambda make=make: q_learning(make, detached), lambda make=make: q_learning(make, without_grad))
    calm(lambda: q_learning(frozen_copy, attached))


def test_freezing_by_an_attribute_that_means_nothing():
    """`module.requires_grad = False` sets a plain attribute: nothing is frozen."""

    def sick():
        student = nn.Linear(4, 3)
        teacher = copy.deepcopy(student)
        teacher.requires_grad = False
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.mse_loss(student(X), teacher(X + 0.1)))
            with torch.no_grad():
                for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
                    slow.lerp_(fast, 0.05)

    def healthy():
        student = nn.Linear(4, 3)
        teacher = copy.deepcopy(student)
        teacher.requires_grad_(False)
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.mse_loss(student(X), teacher(X + 0.1)))
            with torch.no_grad():
                for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
                    slow.lerp_(fast, 0.05)

    diagnosed(sick, "AG109", "teacher.requires_grad = False", "teacher.weight", "requires_grad", severity="warning")
    calm(healthy)


def test_actor_critic_with_a_target_critic():
    """The critic's target is detached, and the actor's loss may go through the critic: its optimizer clears later."""

    def program(reward):
        actor, critic = nn.Linear(4, 2), nn.Linear(6, 1)
        slow = copy.deepcopy(critic)
        actor_optimizer, critic_optimizer = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())
        for _ in range(2):
            value = critic(torch.cat([X, torch.rand(8, 2)], 1))
            bootstrap = slow(torch.cat([X, actor(X).detach()], 1))
            trained(critic_optimizer, F.mse_loss(value, reward(bootstrap)))
            trained(actor_optimizer, -critic(torch.cat([X, actor(X)], 1)).mean())
            for target, source in zip(slow.parameters(), critic.parameters(), strict=True):
                target.data.copy_(0.99 * target.data + 0.01 * source.data)

    report = lambda: program(lambda value: value)  # noqa: E731
    diagnosed(report, "AG109", "bootstrap = slow(", "slow.weight", severity="warning", where=program)
    calm(lambda: program(torch.Tensor.detach))


def test_pretrained_feature_extractor_left_trainable():
    """A perceptual loss network that nobody freezes collects gradients; frozen, gradient still flows through it."""

    def program(freeze):
        generator, perceptual = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        freeze(perceptual)
        optimizer = torch.optim.Adam(generator.parameters())
        for _ in range(2):
            trained(optimizer, F.l1_loss(perceptual(generator(X)), perceptual(X)))

    calm(lambda: program(lambda net: net.requires_grad_(False)))


def test_gan_with_its_own_optimizers():
    """The discriminator's gradients from the generator's loss are cleared before its own step: no mistake."""

    def program():
        generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
        generating, judging = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
        for _ in range(2):
            trained(judging, F.softplus(critic(generator(X).detach())).mean() + F.softplus(-critic(X)).mean())
            trained(generating, F.softplus(-critic(generator(X))).mean())

    calm(program)

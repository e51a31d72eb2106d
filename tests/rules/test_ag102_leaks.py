"""AG102: modes entered by hand, nested, or in wrappers of the program's own."""

from __future__ import annotations

import functools
from contextlib import ExitStack

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def one_step(before=lambda net: None):
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before(net)
    trained(optimizer, F.cross_entropy(net(X), Y))


def test_context_entered_by_hand():
    """`no_grad().__enter__()` without its `__exit__` leaves grad mode off."""

    def forgotten(net):
        guard = torch.no_grad()
        guard.__enter__()
        net(X)

    def paired(net):
        guard = torch.no_grad()
        guard.__enter__()
        net(X)
        guard.__exit__(None, None, None)

    diagnosed(lambda: one_step(forgotten), "AG102", "guard.__enter__()", "no_grad", severity="error", where=forgotten)
    silent(lambda: one_step(paired))


def test_exit_stack_that_is_never_closed():
    """An ExitStack holds the mode until it is closed."""

    def forgotten(net):
        stack = ExitStack()
        stack.enter_context(torch.no_grad())
        net.stack = stack

    def closed(net):
        with ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            net(X)

    diagnosed(
        lambda: one_step(forgotten), "AG102", "enter_context(torch.no_grad())", "no_grad",
        severity="error", where=forgotten,
    )  # fmt: skip
    silent(lambda: one_step(closed))


def test_enable_grad_inside_no_grad():
    """enable_grad inside no_grad records: nothing is cut, as in test-time adaptation."""

    def healthy():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with torch.no_grad():
            before = net(X)
            with torch.enable_grad():
                trained(optimizer, F.mse_loss(net(X), before + 1))

    def sick():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with torch.enable_grad(), torch.no_grad():
            loss = F.cross_entropy(net(X), Y)
        trained(optimizer, loss)

    diagnosed(sick, "AG102", "with torch.enable_grad(), torch.no_grad():", "weight", severity="error")
    silent(healthy)


def test_decorator_of_the_programs_own():
    """A wrapper that switches grad mode off around a function of the training path."""

    def without_grad(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with torch.no_grad():
                return function(*args, **kwargs)

        return wrapper

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

        @without_grad
        def features(self, x):
            return self.embed(x).relu()

        def forward(self, x):
            return self.head(self.features(x))

    def sick():
        net = Net()
        trained(torch.optim.SGD(net.parameters(), lr=0.1), F.cross_entropy(net(X), Y))

    diagnosed(sick, "AG102", "with torch.no_grad():", "embed.weight", severity="warning", where=without_grad)


def test_module_called_through_a_wrapped_callable():
    """`torch.no_grad()(module)` makes a function that never records."""

    def sick():
        net, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        embed = torch.no_grad()(net.forward)
        trained(optimizer, F.cross_entropy(head(embed(X)), Y))

    diagnosed(sick, "AG102", "head(embed(X))", "net.weight", "no_grad", severity="warning")


def test_features_cached_without_graph():
    """Features computed once under no_grad and reused each epoch train the head only."""

    def program(parameters):
        backbone, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.Adam(parameters(backbone, head))
        cache = []
        with torch.no_grad():
            for chunk in X.chunk(2):
                cache += [backbone(chunk).relu()]
        for _ in range(2):
            for features, labels in zip(cache, Y.chunk(2), strict=True):
                trained(optimizer, F.cross_entropy(head(features), labels))

    diagnosed(
        lambda: program(lambda backbone, head: [*backbone.parameters(), *head.parameters()]),
        "AG102", "with torch.no_grad():", "backbone.weight", severity="warning", where=program,
    )  # fmt: skip
    silent(lambda: program(lambda backbone, head: head.parameters()))


def test_new_log_probabilities_computed_like_the_old_ones():
    """PPO computes only the old log probabilities under no_grad: those that every round uses anew are not to blame."""

    def ppo(update):
        policy, value = nn.Linear(4, 2), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()])
        with torch.no_grad():
            dist = torch.distributions.Categorical(logits=policy(X))
            action = dist.sample()
            old, returns = dist.log_prob(action), torch.randn(8)
            advantage = returns - value(X).squeeze(-1)
        for _ in range(2):
            ratio = (update(policy, action) - old).exp()
            clipped = ratio.clamp(0.8, 1.2) * advantage
            trained(optimizer, F.mse_loss(value(X).squeeze(-1), returns) - torch.min(ratio * advantage, clipped).mean())

    @torch.no_grad()
    def log_prob(policy, action):
        return torch.distributions.Categorical(logits=policy(X)).log_prob(action)

    [found] = alarms(inspected(lambda: ppo(log_prob)))
    assert (found.rule, found.severity) == ("AG102", "warning")
    assert "decorator of `log_prob` was active" in found.message
    assert "policy.weight" in found.message
    silent(lambda: ppo(lambda policy, action: torch.distributions.Categorical(logits=policy(X)).log_prob(action)))


def test_initialisation_and_ema_under_no_grad():
    """Writing parameters under no_grad is what initialisation, averaging and clipping do."""

    def healthy():
        net, ema = nn.Linear(4, 2), nn.Linear(4, 2).requires_grad_(False)
        with torch.no_grad():
            net.weight.copy_(torch.eye(2, 4))
            ema.load_state_dict(net.state_dict())
        nn.init.zeros_(net.bias)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))
            with torch.no_grad():
                net.weight.clamp_(-1, 1)
                for slow, fast in zip(ema.parameters(), net.parameters(), strict=True):
                    slow.mul_(0.9).add_(fast, alpha=0.1)

    silent(healthy)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


def test_a_function_with_a_derivative_under_no_grad():
    """It has one: what cuts is the block that it was called in."""
    net = nn.Linear(3, 1)

    def program():
        out = net(torch.ones(2, 3))
        with torch.no_grad():
            out = Doubled.apply(out)
        out.sum().backward()

    diagnosed(program, "AG102", "with torch.no_grad()", "no_grad", severity="error")

"""AG305: hooks that step within each backward(), of losses that are divided as if their gradients accumulated."""

from __future__ import annotations

import torch
from torch import nn

from .programs import inspected, line_of, summary

BATCHES = torch.randn(4, 8, 4, generator=torch.Generator().manual_seed(1))


def hooked(net: nn.Module, every: int = 1) -> None:
    """Each parameter has an optimizer that a hook steps, every so many backwards."""
    count = dict.fromkeys(net.parameters(), 0)

    def step_now(p):
        count[p] += 1
        if count[p] % every == 0:
            optimizers[p].step()  # Stepped.
            optimizers[p].zero_grad()

    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}
    for p in net.parameters():
        p.register_post_accumulate_grad_hook(step_now)


def divided():
    net = nn.Linear(4, 1)
    hooked(net)
    for x in BATCHES:
        (net(x).pow(2).mean() / 4).backward()


def test_each_micro_batch_is_stepped():
    """An info names the hook, the line of its step, and that the losses are divided."""
    report = inspected(divided)
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("AG305", "info"), summary(report)
    assert finding.locations[0].lineno == line_of(hooked, "# Stepped.")
    assert "step_now" in finding.message


def test_whole_losses():
    """Nothing is said of hooks that step with the gradient of a loss that is not divided: it saves memory."""

    def program():
        net = nn.Linear(4, 1)
        hooked(net)
        for x in BATCHES:
            net(x).pow(2).mean().backward()

    assert not inspected(program).findings


def test_hooks_that_wait():
    """Nothing is said of hooks that step when the last of the micro-batches has added its gradient."""

    def program():
        net = nn.Linear(4, 1)
        hooked(net, every=2)
        for x in BATCHES:
            (net(x).pow(2).mean() / 2).backward()

    assert not inspected(program).findings


def test_steps_after_backward():
    """Nothing is said of divided losses whose gradients a step outside uses, one by one or together."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for every in (1, 2):
            for at, x in enumerate(BATCHES):
                (net(x).pow(2).mean() / 2).backward()
                if (at + 1) % every == 0:
                    optimizer.step()
                    optimizer.zero_grad()

    assert not inspected(program).findings


def test_one_hook_beside_a_step():
    """Nothing is said where a hook steps some of the parameters only, and the others accumulate."""

    def program():
        net, head = nn.Linear(4, 4), nn.Linear(4, 1)
        hooked(head)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            for x in BATCHES:
                (head(net(x)).pow(2).mean() / 4).backward()
            optimizer.step()
            optimizer.zero_grad()

    assert not inspected(program).findings


def test_a_ratio_is_no_division_by_a_number():
    """Nothing is said of a loss that is divided by a tensor."""

    def program():
        net = nn.Linear(4, 1)
        hooked(net)
        for x in BATCHES:
            (net(x).pow(2).sum() / x.pow(2).sum()).backward()

    assert not inspected(program).findings

"""AG305: gradients that have served are still there for the next loss, in some rounds."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .programs import diagnosed
from .twins import calm


def curved(after, *, every=2, steps=5):
    """A step in each round; in some rounds another loss, from whose gradients something is computed by ``after``."""
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(steps):
        x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % every == every - 1:
            net(x).logsumexp(-1).mean().backward()
            after(net, optimizer)


def estimated(net, optimizer):
    """Something that lasts is computed from the gradients."""
    for p in net.parameters():
        optimizer.state[p]["curvature"] = p.grad.square()


def test_estimate_of_the_curvature():
    """The next backward is told, and that the estimate used the gradients; cleared after it, all is well."""

    def program():
        curved(estimated)

    def cleared(net, optimizer):
        estimated(net, optimizer)
        optimizer.zero_grad()

    finding = diagnosed(
        program,
        "AG305",
        "F.cross_entropy(net(x), y).backward()",
        "square",
        "net.weight",
        severity="warning",
        where=curved,
    )
    assert finding.fix == "Call `optimizer.zero_grad()` right before the backward() of the next loss."
    calm(lambda: curved(cleared))


def test_term_of_some_rounds():
    """A regulariser that is added now and then serves nothing before the step, and a norm that is logged is no use."""

    def regularised(read):
        net = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        norms = []
        for step in range(5):
            x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
            optimizer.zero_grad()
            if step % 2:
                net.weight.pow(2).sum().backward()
                norms.append(read(net.weight.grad))
            F.cross_entropy(net(x), y).backward()
            optimizer.step()

    calm(lambda: regularised(lambda g: None), lambda: regularised(lambda g: g.abs().mean().item()))


def test_discrepancy_between_two_heads():
    """What a turn of the heads leaves in their encoder is in the encoder's first step, and in its second no more."""

    def solved(inputs):
        encoder, one, two = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 2)
        heads = [*one.parameters(), *two.parameters()]
        opt_e, opt_h = torch.optim.SGD(encoder.parameters(), lr=0.1), torch.optim.SGD(heads, lr=0.1)
        for _ in range(2):
            x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
            h = encoder(x)
            loss = F.cross_entropy(one(h), y) + F.cross_entropy(two(h), y) - (one(h) - two(h)).abs().mean()
            loss.backward(inputs=heads if inputs else None)
            opt_h.step()
            for _ in range(2):
                h = encoder(x)
                (one(h) - two(h)).abs().mean().backward()
                opt_e.step()
                opt_e.zero_grad()
                opt_h.zero_grad()

    def program():
        solved(inputs=False)

    diagnosed(
        program,
        "AG305",
        "(one(h) - two(h)).abs().mean().backward()",
        "encoder.weight",
        severity="warning",
        where=solved,
    )
    calm(lambda: solved(inputs=True))


def consolidated(measured, *, weighted=True):
    """Two rounds; of gradients of samples a weight of parameters is computed by ``measured``; two more rounds."""
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    importance = torch.zeros(3, 4)

    def rounds(penalty):
        for _ in range(2):
            optimizer.zero_grad() if not weighted else None
            loss = F.cross_entropy(net(torch.randn(6, 4)), torch.randint(0, 3, (6,))) + penalty()
            loss.backward()  # Next.
            optimizer.step()
            optimizer.zero_grad()

    rounds(lambda: 0)
    for x in torch.randn(3, 4):
        net.zero_grad()
        net(x).logsumexp(-1).backward()
        importance += measured(net)
    rounds(lambda: (importance * net.weight.square()).sum() if weighted else 0)


def test_weights_of_the_next_loss():
    """The gradients have served once the next loss reads what was made of them."""
    diagnosed(
        lambda: consolidated(lambda net: net.weight.grad.detach().square()), "AG305", "# Next.", "square", "net.weight",
        severity="warning", where=consolidated,
    )  # fmt: skip


def test_weights_and_cleared():
    """Nothing is left where the gradients of the samples are asked for, or cleared before the next loss."""

    def asked(net):
        loss = net(torch.randn(2, 4)).logsumexp(-1).sum()
        net.zero_grad()
        return torch.autograd.grad(loss, net.weight)[0].square()

    calm(
        lambda: consolidated(asked),
        lambda: consolidated(lambda net: net.weight.grad.detach().square(), weighted=False),
    )

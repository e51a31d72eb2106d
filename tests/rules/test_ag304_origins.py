"""AG304: where a NaN or Inf comes from."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, line_of, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def net_of(width=1):
    torch.manual_seed(3)
    net = nn.Linear(4, width)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def nan(program, culprit, *names, where=None):
    return diagnosed(program, "AG304", culprit, *names, severity="error", where=where, values=True)


def test_nan_in_the_data():
    """A NaN that came with the data is told where it enters, not where it spreads."""

    def program(fill):
        net, optimizer = net_of()
        data = X.clone()
        data[2, 1] = fill
        trained(optimizer, F.mse_loss(net(data), Y))

    nan(lambda: program(float("nan")), "data[2, 1] = fill", "data", where=program)
    calm(lambda: program(0.0))


def test_target_that_arrives_with_nan():
    """A target that was NaN before the capture is named as the entrance."""
    target = torch.full((8, 1), 0.5)
    target[3] = float("nan")

    def sick():
        net, optimizer = net_of()
        loss = F.mse_loss(net(X), target)
        trained(optimizer, loss)

    nan(sick, "F.mse_loss(net(X), target)", "target")


def test_loss_that_grows_to_infinity():
    """A learning rate that is far too large: the values explode over the steps."""

    def program(lr, steps):
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=lr)
        for _ in range(steps):
            error = net(X) - Y
            squared = error.pow(2)
            trained(optimizer, squared.mean())

    finding = nan(lambda: program(1e6, 12), "error.pow(2)", "learning rate", where=program)
    assert any("torch.optim.SGD" in place.source for place in finding.locations)
    calm(lambda: program(0.01, 12))


def test_norm_at_zero_and_where():
    """Functions whose subgradient is zero, and masks that never meet a NaN, are healthy."""

    def normed():
        net, optimizer = net_of(3)
        out = net(X)
        trained(optimizer, (out - out[:1]).norm(dim=1).mean())

    def sorted_out():
        net, optimizer = net_of()
        losses = torch.where(Y > 2, Y / 0, Y)
        trained(optimizer, F.mse_loss(net(X), losses))

    def infinite_start():
        net, optimizer = net_of()
        best = torch.tensor(float("inf"))
        for _ in range(2):
            loss = F.mse_loss(net(X), Y)
            best = torch.minimum(best, loss.detach())
            trained(optimizer, loss)

    def causal():
        mask = torch.full((8, 8), float("-inf")).triu(1)
        net, optimizer = net_of(4)
        hidden = net(X)
        trained(optimizer, ((hidden @ hidden.t() + mask).softmax(-1) @ hidden).pow(2).mean())

    calm(normed, sorted_out, infinite_start, causal)


def test_a_nan_that_a_mask_keeps_from_the_loss():
    """The loss is finite, the gradients are not: the softmax of a row without any place is to blame, and its mask."""

    def program():
        net, optimizer = net_of(4)
        empty = torch.zeros(8, 1, dtype=torch.bool)
        empty[0] = True
        hidden = net(X)
        scores = (hidden @ hidden.t()).masked_fill(empty, float("-inf"))
        mixed = scores.softmax(1) @ hidden
        trained(optimizer, mixed.masked_fill(empty, 0).pow(2).mean())

    finding = nan(program, "scores.softmax(1)", "softmax", "net.weight")
    assert line_of(program, 'float("-inf")') in {place.lineno for place in finding.locations}


def test_pow_with_a_fractional_exponent():
    """x ** 0.5 at 0 is fine forward and infinite backward; acos at 1 as well."""

    def power():
        net, optimizer = net_of()
        gap = (net(X) - net(X.clone())).abs()
        root = gap**0.5
        trained(optimizer, root.mean())

    def angle():
        net, optimizer = net_of(3)
        a = F.normalize(net(X), dim=1)
        cosine = (a * 0).sum(1) + 1
        trained(optimizer, torch.acos(cosine).mean())

    nan(power, "root = gap**0.5", "pow", "root")
    nan(angle, "torch.acos(cosine)", "acos")


def test_memory_that_is_not_set_yet():
    """`torch.empty` may hold anything, NaN too, until it is filled."""

    def program():
        net, optimizer = net_of()
        buffer = torch.empty(8, 4)
        torch.Tensor.fill_(buffer.detach(), float("nan"))
        buffer.copy_(X)
        trained(optimizer, F.mse_loss(net(buffer), Y))

    calm(program)


def test_the_op_that_hides_a_nan_is_named():
    """`where` keeps missing targets out of the loss, and not out of the backward."""

    def program():
        net, optimizer = net_of()
        target = X[:, :1].clone()
        target[2] = float("nan")
        error = (net(X) - target).pow(2)
        trained(optimizer, torch.where(target.isnan(), 0.0, error).sum())

    def before():
        net, optimizer = net_of()
        target = X[:, :1].clone()
        target[2] = float("nan")
        trained(optimizer, (net(X)[~target.isnan()] - target[~target.isnan()]).pow(2).sum())

    finding = nan(program, "error = (net(X) - target)", "net.weight")
    assert line_of(program, "torch.where(") in {place.lineno for place in finding.locations}
    calm(before)


def scaled(scale, factor=1.0):
    """Two rounds of a GradScaler that searches for its scale."""
    net, optimizer = net_of()
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    for _ in range(2):
        optimizer.zero_grad()
        loss = factor * F.mse_loss(net(10 * X), Y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def test_overflow_that_a_scaler_skips():
    """The gradients overflow, or the scaled loss does, in each round that was seen: the scaler skips, and goes on."""
    for program in (lambda: scaled(2.0**127), lambda: scaled(2.0**125, 0.01)):
        report = inspected(program, values=True)
        assert not alarms(report), summary(report)
        assert report.capture.nonfinite or report.capture.bad_tensors or report.capture.leaf_values
    nan(lambda: scaled(2.0, float("inf")), "F.mse_loss(net(10 * X), Y)", where=scaled)


def test_the_result_of_an_op_is_named_once():
    """Of what no variable holds it is said that the op makes it, and not that it is in the op's result."""

    def program():
        w = nn.Parameter(torch.zeros(3))
        (w.log() * 2).sum().backward()

    finding = nan(program, "w.log()")
    assert finding.message.startswith("`log` makes the first Inf, from finite values")


def test_batch_that_the_program_leaves_out():
    """Gradients that are cleared before any step, while later ones are sound, harmed nothing; those that step did."""

    def program(skips, bad):
        net, optimizer = net_of()
        for step in range(4):
            optimizer.zero_grad()
            x = X.clone()
            x[0, 0] = float("inf") if step in bad else 1.0
            net(x).square().mean().backward()
            if skips and not all(p.grad.isfinite().all() for p in net.parameters()):
                continue
            optimizer.step()

    calm(lambda: program(True, {2}))
    nan(lambda: program(False, {2}), "x[0, 0] =", where=program)
    nan(lambda: program(True, {2, 3}), "x[0, 0] =", where=program)


@pytest.fixture
def _filled():
    """torch fills the memory that it leaves unset with NaN."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("_filled")
def test_memory_that_nothing_was_written_to():
    """What is computed with an empty tensor, to learn shapes, is no data; what is written to one is."""

    def program(fill, used):
        net, optimizer = net_of()
        buffer = torch.empty_strided((8, 4), (4, 1))
        guess = F.mse_loss(net(buffer), Y, reduction="none")
        shape = guess.shape
        torch.autograd.grad(guess.mean(), net.weight)
        given = buffer if used else torch.ones(8, 4)
        given.copy_(X)
        given[0].mul_(fill)
        trained(optimizer, F.mse_loss(net(given), torch.zeros(shape)))

    for used in (False, True):
        calm(lambda used=used: program(1.0, used))
        nan(lambda used=used: program(float("nan"), used), "given[0].mul_", where=program)


def test_derivative_that_is_infinite_at_any_scale():
    """Each step is skipped, and the scale falls for nothing; where one step is taken, the scaler has done its work."""

    def program(rounds, bad):
        net, optimizer = net_of()
        offset = nn.Parameter(torch.zeros(3))
        optimizer.add_param_group({"params": [offset]})
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for step in range(rounds):
            optimizer.zero_grad()
            penalty = offset.square().sum()
            loss = F.mse_loss(net(X), Y) + (penalty + (0 if step < bad else 1)).sqrt()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    nan(lambda: program(3, 3), ".sqrt()", "offset", where=program)
    calm(lambda: program(3, 1), lambda: program(1, 1))

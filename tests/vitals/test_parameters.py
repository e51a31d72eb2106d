"""What is measured of parameters is what one computes by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture.vitals.samples import sampled


def vitals(program, **options):
    with autograd_inspector.inspect(values=True, **options) as inspection:
        program()
    return inspection.report.vitals


def row(found, name):
    [one] = [parameter for parameter in found.parameters if parameter.name == name]
    return one


def close(figure, expected):
    assert list(figure.values) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64])
def test_norms_entries_zeros_and_updates(dtype):
    """In every dtype, over three steps: norms are those of float64, the update is the change over what was there."""
    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(40, 30).to(dtype))
    model = nn.ParameterDict({"w": weight})
    optimizer = torch.optim.SGD([weight], lr=0.5)
    expected = {name: [] for name in ("gradient", "entry", "zeros", "weight", "update")}
    gradients = [(torch.randn(40, 30) * 300).to(dtype) * (torch.rand(40, 30) > 0.25) for _ in range(3)]

    def wide(tensor):
        return torch.view_as_real(tensor).double() if tensor.is_complex() else tensor.double()

    def program():
        for gradient in gradients:
            optimizer.zero_grad()
            (model["w"] * gradient.conj()).sum().abs().backward() if dtype.is_complex else (
                model["w"] * gradient
            ).sum().backward()
            given, before = wide(weight.grad), wide(weight.detach().clone())
            expected["gradient"].append(given.norm().item())
            expected["entry"].append(given.abs().max().item())
            expected["zeros"].append((given == 0).double().mean().item())
            expected["weight"].append(before.norm().item())
            optimizer.step()
            expected["update"].append(((wide(weight.detach()) - before).norm() / before.norm()).item())

    found = vitals(program)
    assert found.steps == (1, 2, 3)
    for name, values in expected.items():
        close(getattr(row(found, "w"), name), values)


def test_a_large_parameter_is_sampled():
    """Its norms are exact; share of zeros and update are those of entries that lie evenly over it."""
    torch.manual_seed(0)
    table = nn.Embedding(3000, 64)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
    rows = torch.arange(0, 3000, 2)

    def program():
        (table(rows) * torch.randn(1500, 64)).sum().backward()
        optimizer.step()

    before = table.weight.detach().clone()
    weight = row(vitals(program), "weight")
    close(weight.gradient, [table.weight.grad.norm().item()])
    close(weight.weight, [before.norm().item()])
    assert weight.zeros.values[0] == pytest.approx(0.5, abs=0.02)
    ratio = ((table.weight.detach() - before).norm() / before.norm()).item()
    assert weight.update.values[0] == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize("shape", [(512, 512), (300, 64, 7), (128, 64, 3, 3)])
def test_a_sample_meets_every_column(shape):
    """No stride shares a divisor with the length of a row: each last index is among the entries."""
    columns = torch.arange(shape[-1]).expand(shape)
    assert set(sampled(columns.contiguous(), 4096).tolist()) == set(range(shape[-1]))
    assert 4096 * 0.9 <= sampled(torch.zeros(shape), 4096).numel() + shape[-1] * 100 >= 4096 * 0.5


def test_a_transposed_tensor_is_read_where_it_lies():
    """Of memory in another order all entries are met, without a copy."""
    values = torch.arange(12.0).view(3, 4).t()
    assert sampled(values, 100).data_ptr() == values.data_ptr()
    assert sorted(sampled(values, 100).tolist()) == [*range(12)]


def test_what_is_not_finite_is_counted():
    """A step with NaN in a gradient is in the row as NaN, counted, and no extreme."""
    weight = nn.Parameter(torch.ones(3))
    model, optimizer = nn.ParameterList([weight]), torch.optim.SGD([weight], lr=0.0)

    def program():
        for scale in (1.0, math.nan, 2.0, math.inf):
            optimizer.zero_grad()
            (model[0] * scale).sum().backward()
            optimizer.step()

    found = row(vitals(program), "0")
    assert (found.nonfinite, found.first_nonfinite) == (2, 2)
    assert math.isnan(found.gradient.values[1])
    assert found.gradient.values[3] == math.inf
    assert found.entry.largest == autograd_inspector.model.vitals.Extreme(2.0, 3)


def test_a_parameter_without_gradient_has_nothing_in_that_step():
    """None, not zero: it was not measured."""
    first, second = nn.Linear(2, 1), nn.Linear(2, 1)
    both = nn.ModuleList([first, second])
    optimizer = torch.optim.SGD(both.parameters(), lr=0.1)

    def program():
        for net in (first, second):
            optimizer.zero_grad(set_to_none=True)
            both[0](torch.ones(1, 2)).sum() if net is second else None
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()

    found = vitals(program)
    assert [value is None for value in row(found, "0.weight").gradient.values] == [False, True]
    assert [value is None for value in row(found, "1.weight").gradient.values] == [True, False]


def test_a_closure_steps_with_what_it_computed():
    """The gradient is the closure's, the update that of the whole step."""
    weight = nn.Parameter(torch.tensor([2.0, 0.0]))
    model, optimizer = nn.ParameterList([weight]), torch.optim.SGD([weight], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = model[0].pow(2).sum()
        loss.backward()
        return loss

    [found] = vitals(lambda: optimizer.step(closure)).parameters
    close(found.gradient, [4.0])
    close(found.update, [0.5])


def test_gradients_without_an_optimizer():
    """A backward alone is one step."""
    net = nn.Linear(3, 1)
    found = vitals(lambda: net(torch.ones(2, 3)).sum().backward())
    assert found.steps == (1,)
    close(row(found, "weight").gradient, [net.weight.grad.norm().item()])


def test_a_sparse_gradient_is_that_of_its_values():
    """What it does not hold counts for nothing in a norm."""
    table = nn.Embedding(50, 4, sparse=True)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.1)

    def program():
        table(torch.tensor([1, 1, 7])).sum().backward()
        optimizer.step()

    close(row(vitals(program), "weight").gradient, [math.sqrt(4 * 2**2 + 4)])


def test_the_scaler_of_mixed_precision():
    """The scale after each update, and how many lowered it."""
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)

    def program():
        for factor in (1.0, 1.0, math.inf, 1.0):
            optimizer.zero_grad()
            scaler.scale(net(torch.ones(1, 2)).sum() * factor).backward()
            scaler.step(optimizer)
            scaler.update()

    scale = vitals(program).scale
    assert scale.values == (8.0, 16.0, 8.0, 8.0)
    assert (scale.updates, scale.skipped) == ((1, 2, 3, 4), 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64])
def test_the_angle_between_two_gradients(dtype):
    """Their cosine, over the entries that neither has at 0; none in the first step, for a bias, or of a few entries."""
    torch.manual_seed(0)
    weight, bias, small = (
        nn.Parameter(torch.zeros(16, 32, dtype=dtype)),
        nn.Parameter(torch.zeros(300)),
        nn.Linear(2, 2),
    )
    model = nn.ParameterDict({"w": weight, "b": bias, "s": small.weight})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    scale = 1e-3 if dtype == torch.float16 else 1e-25  # Of the square of such a float32 nothing is left.
    common = torch.randn(16, 32)
    given = [((common + torch.randn(16, 32)) * scale).to(dtype) * (torch.rand(16, 32) > 0.3) for _ in range(3)]

    def program():
        for gradient in given:
            sum(p.detach().abs().sum() for p in model.values())
            weight.grad, bias.grad = gradient.clone(), torch.ones(300)
            small.weight.grad = torch.ones(2, 2)
            optimizer.step()

    def cosine(one, other):
        one, other = ((torch.view_as_real(t) if t.is_complex() else t).double().flatten() / scale for t in (one, other))
        both = (one != 0) & (other != 0)
        return torch.nn.functional.cosine_similarity(one[both], other[both], dim=0).item()

    found = vitals(program)
    first, *rest = row(found, "w").cosine.values
    assert first is None
    expected = [cosine(given[0], given[1]), cosine(given[1], given[2])]
    # A complex weight has twice as many numbers, of which every second is met.
    assert rest == pytest.approx(expected, abs=0.15 if dtype.is_complex else 2e-3)
    assert row(found, "b").cosine.values == row(found, "s").cosine.values == ()


def test_a_sparse_gradient_by_hand():
    """In float64: norm, largest entry and zeros of what it holds, rows that came twice added up; the whole weight."""
    torch.manual_seed(0)
    table = nn.Embedding(50, 4, sparse=True)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.5)
    factor = torch.randn(3, 4) * torch.tensor([1.0, 0.0, 1.0, 1.0])
    before = table.weight.detach().double()

    def program():
        (table(torch.tensor([1, 1, 7])) * factor).sum().backward()
        optimizer.step()

    found = row(vitals(program), "weight")
    gradient = torch.stack([factor[0].double() + factor[1].double(), factor[2].double()])
    close(found.gradient, [gradient.norm().item()])
    close(found.entry, [gradient.abs().max().item()])
    close(found.zeros, [0.25])
    close(found.weight, [before.norm().item()])
    close(found.update, [(0.5 * gradient.norm() / before.norm()).item()])


def test_a_scaler_that_is_switched_off():
    """It has no scale, and the capture goes on."""
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", enabled=False)

    def program():
        for _ in range(2):
            scaler.scale(net(torch.ones(1, 2)).sum()).backward()
            scaler.step(optimizer)
            scaler.update()

    found = vitals(program)
    assert (found.seen, found.scale.values) == (2, ())

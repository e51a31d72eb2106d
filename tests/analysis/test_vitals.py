"""What statistics over the steps show."""

from __future__ import annotations

import math

import pytest

from autograd_inspector.analysis.vitals.activity import dead_rows, saturated_rows
from autograd_inspector.analysis.vitals.depth import trend_of
from autograd_inspector.analysis.vitals.growth import churn_of, growth_of
from autograd_inspector.analysis.vitals.noise import noisy_layers
from autograd_inspector.model.vitals import Figure, ModuleVitals, ParameterVitals, Vitals

from .written import Written


def run_with(gradients, *, steps, cosines=(), shape=(4, 4)):
    """A model of one layer after the other, whose gradient norms are given, one list a layer."""
    program = Written()
    hidden, rows = program.tensor(), []
    for number, values in enumerate(gradients):
        weight = program.parameter(f"{number}.weight", shape=shape)
        hidden = program.call("linear", hidden, weight)
        cosine = Figure(cosines[number]) if cosines else Figure()
        rows.append(
            ParameterVitals(
                f"{number}.weight", weight, 16, Figure(values), weight=Figure((1.0,) * steps), cosine=cosine
            )
        )
    program.more["vitals"] = Vitals(steps=tuple(range(1, steps + 1)), parameters=tuple(rows))
    return program.capture


def test_gradients_that_shrink_towards_the_first_layer():
    """From the first kept step on; a factor of ten over the layers is no trend, nor are fewer layers."""
    falling = [(10.0**-number,) for number in (6, 5, 4, 3, 2, 1)]
    trend = trend_of(run_with(falling, steps=1))
    assert trend.vanishes
    assert trend.factor == pytest.approx(1e5)
    assert not trend_of(run_with(falling[::-1], steps=1)).vanishes
    assert trend_of(run_with([(1.2**number,) for number in range(6)], steps=1)) is None
    assert trend_of(run_with(falling[:4], steps=1)) is None
    assert trend_of(run_with(falling, steps=1, shape=(4,))) is None


@pytest.mark.parametrize("other", [0.0, math.nan, None])
def test_layers_of_which_one_has_no_norm_show_no_trend(other):
    """Other rules tell of zeros and NaN."""
    falling = [(10.0**-number,) for number in (6, 5, 4, 3, 2, 1)]
    assert trend_of(run_with([*falling[:2], (other,), *falling[3:]], steps=1)) is None


def test_gradients_that_grow_over_the_steps():
    """And stay large: a spike that is over at the end is none, nor is what is not finite."""
    rising = (1.0,) * 4 + (1e2, 1e3, 1e4, 1e5)
    growth = growth_of(run_with([rising], steps=8).vitals)
    assert (growth.before, growth.largest, growth.step, growth.row.name) == (1.0, 1e5, 8, "0.weight")
    assert growth_of(run_with([(*rising, 1.0)], steps=9).vitals) is None
    assert growth_of(run_with([(*rising, math.inf)], steps=9).vitals) is None
    assert growth_of(run_with([rising[1:]], steps=7).vitals) is None


@pytest.mark.parametrize(("ratio", "steps", "found"), [(0.5, 16, True), (0.5, 15, False), (0.01, 16, False)])
def test_steps_that_change_a_third_of_the_weights(ratio, steps, found):
    """In each of the last ten, of sixteen at least."""
    row = ParameterVitals("w", 0, 16, weight=Figure((1.0,) * steps), update=Figure((ratio,) * steps))
    churn = churn_of(Vitals(steps=tuple(range(steps)), parameters=(row,)))
    assert (churn is not None) is found


@pytest.mark.parametrize(("never", "steps", "dead"), [(16, 16, True), (8, 16, False), (16, 15, False)])
def test_units_that_are_never_active(never, steps, dead):
    """More of them than an input that hardly varies leaves off, in sixteen batches at least."""
    row = ModuleVitals("act", op="relu", site=0, dead=Figure((1.0,) * steps), units=16, never=never)
    assert (list(dead_rows(Vitals(modules=(row,)))) == [row]) is dead


def test_hidden_functions_at_the_flat_ends_of_their_range():
    """The last function of a model may say 0 or 1, and one that was flat once has recovered."""
    flat, layer = ModuleVitals("act", op="sigmoid", site=0, saturated=Figure((0.95,) * 10)), ModuleVitals("head")
    recovered = ModuleVitals("act", op="sigmoid", site=0, saturated=Figure((0.95,) * 9 + (0.2,)))
    assert list(saturated_rows(Vitals(modules=(flat, layer)))) == [flat]
    assert list(saturated_rows(Vitals(modules=(layer, flat)))) == []
    assert list(saturated_rows(Vitals(modules=(recovered, layer)))) == []


def test_a_layer_whose_gradient_is_noise_beside_clear_ones():
    """Its mean cosine is near 0; one that turns round each time, or few steps, are no noise."""
    clear, noise = (0.8, 0.9) * 20, (0.05, -0.05) * 20
    [found] = noisy_layers(run_with([()] * 5, steps=40, cosines=[clear, clear, noise, clear, clear]))
    assert found.layer.vitals.name == "2.weight"
    assert found.around == pytest.approx(0.85)
    assert found.scale == pytest.approx(1 / 0.85 - 1)
    assert not list(noisy_layers(run_with([()] * 5, steps=40, cosines=[clear, clear, (-0.5, -0.6) * 20, clear, clear])))
    assert not list(
        noisy_layers(run_with([()] * 5, steps=20, cosines=[clear[:20], clear[:20], noise[:20], clear[:20], clear[:20]]))
    )

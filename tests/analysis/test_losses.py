"""What losses are computed with."""

from __future__ import annotations

import pytest

from autograd_inspector.analysis.gradients.straight_through import reversed_estimators
from autograd_inspector.analysis.losses.given import computed_by, handed_on
from autograd_inspector.analysis.losses.inputs import swapped, wrong_inputs
from autograd_inspector.analysis.losses.paired import paired
from autograd_inspector.analysis.losses.walks import is_light
from autograd_inspector.analysis.signed_sums import signed_operands
from autograd_inspector.model.op import Op

from .written import Written


def loss_of(made_by, loss, **fields):
    """A network's layer, a function of its result, a loss of that: what is found wrong with its input."""
    program = Written()
    layer = program.call("linear", program.parameter(), program.parameter("b"), shape=(4, 2))
    given = layer if made_by == "linear" else program.call(made_by, layer)
    program.backward(program.call(loss, given, program.tensor(shape=(4,), dtype="int64"), shape=(), **fields))
    return list(wrong_inputs(program.analysis))


@pytest.mark.parametrize(
    ("made_by", "loss", "given", "expected"),
    [
        ("softmax", "cross_entropy", "distribution", "logits for softmax"),
        ("sigmoid", "binary_cross_entropy_with_logits", "probabilities", "logits for sigmoid"),
        ("softmax", "nll_loss", "distribution", "log-probabilities"),
        ("linear", "kl_div", "scores", "log-probabilities"),
    ],
)
def test_a_loss_is_given_what_another_one_expects(made_by, loss, given, expected):
    """By the op that computed its input."""
    [found] = loss_of(made_by, loss)
    assert (found.given, found.expected, found.made.name, found.loss.name) == (given, expected, made_by, loss)


@pytest.mark.parametrize(
    ("made_by", "loss"), [("linear", "cross_entropy"), ("log_softmax", "nll_loss"), ("sigmoid", "mse_loss")]
)
def test_a_loss_that_is_given_what_it_expects(made_by, loss):
    """Nothing is found."""
    assert loss_of(made_by, loss) == []


def test_a_loss_that_no_backward_went_through():
    """A metric is computed of probabilities, and nobody differentiates it."""
    program = Written()
    layer = program.call("linear", program.parameter(), program.parameter("b"), shape=(4, 2))
    program.call("cross_entropy", program.call("softmax", layer), layer, shape=(), recorded=False)
    assert list(wrong_inputs(program.analysis)) == []


def test_a_prediction_in_the_place_of_the_target():
    """The input is a constant, and the target a layer's result; a target that is learned is a distribution."""
    program = Written()
    labels = program.tensor(shape=(4, 2))
    layer = program.call("linear", program.parameter(), program.parameter("b"), shape=(4, 2))
    program.call("cross_entropy", labels, layer, shape=())
    program.call("cross_entropy", labels, program.call("softmax", layer), shape=())
    program.call("cross_entropy", layer, labels, shape=())
    assert [found.loss.index for found in swapped(program.analysis)] == [1]


def test_views_and_conversions_hand_numbers_on():
    """What computed them lies behind; what was there before has no op."""
    program = Written()
    x = program.tensor(grad=True)
    made = program.call("exp", x)
    given = program.call("to", program.call("view", made))
    analysis = program.analysis
    assert (computed_by(analysis, given).name, handed_on(analysis, given)) == ("exp", made)
    assert (computed_by(analysis, x), handed_on(analysis, x)) == (None, x)


def squared_difference(column, row, *, by=("sub", "pow", "mean"), target=None):
    """A loss of a column and a row."""
    program = Written()
    first = program.call("linear", program.parameter(), program.parameter("b"), shape=column)
    second = program.tensor(shape=row) if target is None else program.call("view", first, shape=row)
    pairs = program.call(by[0], first, second, shape=(column[0], *row) if by[0] == "sub" else ())
    for name in by[1:]:
        pairs = program.call(name, pairs, shape=() if name == "mean" else None)
    program.backward(pairs)
    return [(found.op.name, found.reduced.name) for found in paired(program.analysis)]


def test_a_column_and_a_row_make_all_pairs():
    """Until one op makes one number of them, or in a loss of torch's own."""
    assert squared_difference((4, 1), (4,)) == [("sub", "mean")]
    assert squared_difference((4, 1), (4,), by=("mse_loss",)) == [("mse_loss", "mse_loss")]


def test_shapes_that_say_that_pairs_are_wanted_or_that_none_are_made():
    """Two columns; one row of another length; both of one tensor."""
    assert squared_difference((4, 1), (4, 1)) == []
    assert squared_difference((4, 1), (3,)) == []
    assert squared_difference((4, 1), (4,), target="the same") == []


@pytest.mark.parametrize("name", ["sum", "log_softmax", "view", "gather", "clamp", "__setitem__", "mul"])
def test_what_only_makes_other_numbers_of_the_numbers(name):
    """It is no layer of a network."""
    assert is_light(name)


@pytest.mark.parametrize("name", ["linear", "conv2d", "tanh", "relu", "layer_norm"])
def test_what_a_network_computes_with(name):
    """A walk from the loss back ends there."""
    assert not is_light(name)


def test_the_operands_of_a_difference_have_signs():
    """The second one a minus; of `rsub` the first one; of a negation the only one."""
    signs = {name: dict(signed_operands(Op(0, name, (5, 6)[:n], (), (), -1))) for name, n in SIGNED}
    assert signs == {
        "add": {0: 1, 1: 1}, "sub": {0: 1, 1: -1}, "rsub": {0: -1, 1: 1}, "neg": {0: -1},
    }  # fmt: skip


SIGNED = (("add", 2), ("sub", 2), ("rsub", 2), ("neg", 1))


def estimator(*, detached):
    """`hard - soft + soft`, where one of them is detached."""
    program = Written()
    soft = program.call("softmax", program.parameter(shape=(4,)))
    hard = program.call("argmax", soft, grad=False)
    kept, taken = (program.call("detach", soft), soft) if detached == "first" else (soft, program.call("detach", soft))
    joined = program.call("add", program.call("sub", hard, kept), taken)
    program.backward(joined)
    return [
        (found.gradient == soft, found.value == hard, found.swapped) for found in reversed_estimators(program.analysis)
    ]


def test_an_estimator_that_detaches_the_wrong_term():
    """`hard - soft + soft.detach()` hands the gradient of `soft` on with a minus; the other way round is right."""
    assert estimator(detached="second") == [(True, True, False)]
    assert estimator(detached="first") == []


def test_an_estimator_of_what_is_a_difference_itself():
    """`soft + (hard - soft).detach()` of `soft = a - b`: that `b` counts with a minus in it reverses nothing."""
    program = Written()
    a, b = program.parameter("a"), program.parameter("b")
    soft = program.call("sub", a, b)
    hard = program.call("gt", soft, dtype="bool")
    shift = program.call("detach", program.call("sub", program.call("to", hard), soft))
    program.backward(program.call("add", soft, shift))
    assert list(reversed_estimators(program.analysis)) == []


@pytest.mark.parametrize(("shifted", "constant"), [("the estimated", False), ("another", True)])
def test_a_loss_that_is_an_estimator_has_no_constant_term(shifted, constant):
    """`s + (drawn - s).detach()` has the value that was drawn and the gradient of `s`; a shift of another has not."""
    program = Written()
    w, v = program.parameter(shape=()), program.parameter("v", shape=())
    optimizer = program.optimizer(w, v)
    soft, other = program.call("sigmoid", w), program.call("sigmoid", v)
    drawn = program.call("bernoulli", soft, grad=False)
    taken = soft if shifted == "the estimated" else other
    shift = program.call("detach", program.call("sub", drawn, taken))
    program.backward(program.call("add", program.call("add", soft, shift), program.call("exp", v)))
    program.step(optimizer, gradient=program.tensor())
    assert bool(program.analysis.constant_terms) is constant

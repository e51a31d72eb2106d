"""preflight() touches nothing: bit by bit, and by identity."""

import random
import weakref

import numpy as np
import pytest
import torch
from torch import nn

from autograd_inspector import PreflightError, preflight

from .nets import IDS, everything, loss_of, made, made_for


def raises(model, ids):
    loss_of(model, ids).backward()
    random.random()
    np.random.rand()  # noqa: NPY002
    raise ValueError("in the step")


def interrupted(model, ids):
    loss_of(model, ids).backward()
    raise KeyboardInterrupt


def no_scalar(model, ids):
    return model(ids)


def a_number(model, ids):
    return loss_of(model, ids).item()


@pytest.mark.parametrize("loss_fn", [loss_of, raises])
@pytest.mark.parametrize("training", [True, False])
def test_nothing_is_touched(loss_fn, training):
    """Weights, buffers, gradients, modes, hooks, optimizer state and random streams, bit by bit."""
    model, optimizer = made()
    model.train(training)
    before = everything(model, optimizer)
    preflight(model, IDS, loss_fn, optimizer)
    assert everything(model, optimizer) == before


@pytest.mark.parametrize("loss_fn", [interrupted, no_scalar, a_number])
def test_nothing_is_touched_when_it_is_left_by_an_exception(loss_fn):
    """An interrupt passes through; a loss that is none is refused."""
    model, optimizer = made()
    before = everything(model, optimizer)
    with pytest.raises((KeyboardInterrupt, PreflightError)):
        preflight(model, IDS, loss_fn, optimizer)
    assert everything(model, optimizer) == before


def test_a_loss_function_that_runs_the_model_itself_is_refused():
    """Its closure has the original, which stays untouched."""
    model, optimizer = made()
    before = everything(model, optimizer)
    with pytest.raises(PreflightError, match="use the model "):
        preflight(model, IDS, lambda _, ids: loss_of(model, ids), optimizer)
    assert everything(model, optimizer) == before
    with pytest.raises(PreflightError, match="use the model "):
        preflight(model, IDS, lambda _, ids: model.embed(ids).sum(), optimizer)


def test_a_loss_function_that_uses_an_original_parameter_leaves_its_gradient_alone():
    """Backward reaches the original; what it leaves there is thrown away."""
    model, optimizer = made()
    before = everything(model, optimizer)
    preflight(model, IDS, lambda twin, ids: loss_of(twin, ids) + model.embed.weight.sum(), optimizer)
    assert everything(model, optimizer) == before


def test_a_scheduler_on_the_optimizer_is_not_stepped():
    """It puts a ``step`` on the optimizer, which steps the original."""
    model, optimizer = made()
    torch.optim.lr_scheduler.LinearLR(optimizer)
    before = everything(model, optimizer)
    assert not preflight(model, IDS, loss_of, optimizer).stuck
    assert everything(model, optimizer) == before


def test_a_batch_that_the_step_changes_stays_what_it_was():
    """Popping labels and writing in place happen to a copy."""
    model, optimizer = made()
    batch = {"ids": IDS.clone(), "labels": IDS.clone()}

    def loss_fn(model, batch):
        return nn.functional.cross_entropy(model(batch["ids"].mul_(0)), batch.pop("labels"))

    preflight(model, batch, loss_fn, optimizer)
    assert torch.equal(batch["ids"], IDS)
    assert torch.equal(batch["labels"], IDS)


def test_a_model_that_cannot_be_copied_is_refused_in_one_line():
    """With the attribute that is to blame."""
    model, optimizer = made()
    model.norm.cache = model.embed(IDS)
    before = everything(model, optimizer)
    with pytest.raises(PreflightError, match=r"norm\.cache .*norm\.cache\.detach\(\)"):
        preflight(model, IDS, loss_of, optimizer)
    model.norm.cache = (n for n in ())
    with pytest.raises(PreflightError, match=r"cannot be copied .*generator") as caught:
        preflight(model, IDS, loss_of, optimizer)
    assert "\n" not in str(caught.value)
    del model.norm.cache
    assert everything(model, optimizer) == before


@pytest.mark.parametrize("kind", [torch.optim.LBFGS, torch.optim.Adagrad, torch.optim.RAdam, torch.optim.Adafactor])
def test_other_optimizers(kind):
    """Copied with all that they keep on themselves; LBFGS is given a closure."""
    model, _ = made()
    optimizer = kind(model.embed.parameters(), lr=0.1)
    before = everything(model, optimizer)
    check = preflight(model, IDS, loss_of, optimizer)
    assert not check.stuck, str(check)
    assert everything(model, optimizer) == before


def test_the_copy_is_gone_when_the_answer_is_there():
    """Nothing keeps it alive, also when the step raised: no gc needed."""
    copies = []

    def loss_fn(model, ids):
        copies.append(weakref.ref(model))
        return loss_of(model, ids)

    def failing(model, ids):
        loss_fn(model, ids)
        raise ValueError

    checks = [preflight(*made_for(loss_fn)), preflight(*made_for(failing))]
    assert len(checks) == len(copies) == 2
    assert [ref() for ref in copies] == [None, None]

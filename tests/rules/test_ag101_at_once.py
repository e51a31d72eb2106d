"""AG101 and AG105: a backward that ends where it begins, without an optimizer."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from .programs import diagnosed
from .twins import calm


def asked(cut):
    x = torch.randn(4, 3, requires_grad=True)
    cut(F.cross_entropy(2 * x, torch.tensor([0, 1, 2, 0]))).backward()


def detached(loss):
    return loss.detach().requires_grad_()  # Cut.


def data(loss):
    return loss.data.requires_grad_()  # Cut.


def made_anew(loss):
    return torch.tensor(loss.item(), requires_grad=True)  # Cut.


@pytest.mark.parametrize(("cut", "code"), [(detached, "AG101"), (data, "AG101"), (made_anew, "AG105")])
def test_loss_that_was_told_to_require_grad(cut, code):
    """That silences backward's complaint: it fills the gradient of the loss, and that of nothing else."""
    diagnosed(lambda: asked(cut), code, "# Cut.", "x gets no gradient", severity="warning", where=cut)


def test_root_that_is_a_leaf_of_its_own():
    """What was computed of nothing that learns is a leaf by right, and so is an input."""

    def number():
        torch.tensor(1.0).mul(2).requires_grad_().backward()

    calm(lambda: asked(lambda loss: loss), number)

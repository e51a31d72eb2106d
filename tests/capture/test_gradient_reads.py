"""Reads of .grad on tensors that are no leaves."""

import warnings

import torch

from tests.capture.observe import observe


def test_the_read_is_seen_and_the_warning_stays_the_programs():
    """Torch warns once, as without the inspector, and the read says that the tensor is no leaf."""

    def program():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.sum().backward()
        return y.grad

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        (read,) = observe(program).grad_reads
    assert (read.leaf, read.retains_grad, read.gradient) == (False, False, -1)
    assert len([w for w in seen if "not a leaf" in str(w.message)]) == 1


def test_the_inspector_causes_no_warning_of_its_own():
    """A program full of activations that are no leaves runs without any warning."""

    def program():
        y = torch.ones(3, requires_grad=True) * 2
        y.register_hook(lambda grad: grad)
        (y.exp() + y).sum().backward()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert observe(program).grad_reads == ()


def test_a_retained_gradient_is_told():
    """After retain_grad() the read gets a tensor."""

    def program():
        y = torch.ones(3, requires_grad=True) * 2
        y.retain_grad()
        y.sum().backward()
        assert y.grad is not None

    (read,) = observe(program).grad_reads
    assert read.retains_grad
    assert read.gradient >= 0

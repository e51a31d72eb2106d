"""Which methods extend a base class's, of the object whose `requires_grad` changes."""

import pytest
import torch
from torch import nn

import autograd_inspector


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def freeze(self):
        self.first()

    def first(self):
        self.second()

    def second(self):
        self.third()

    def third(self):
        self.fourth()

    def fourth(self):
        self.fifth()

    def fifth(self):
        self.w.requires_grad_(False)


class Extended(Base):
    def freeze(self):
        super().freeze()


class Plain(Base):
    pass


@pytest.mark.parametrize("kinds", [[Plain], [Extended], [Extended, Plain], [Plain, Extended]])
def test_the_methods_of_each_object(kinds):
    """However deep below them it happens, and whichever other object went the same way before."""
    with autograd_inspector.inspect() as inspection:
        for kind in kinds:
            kind().freeze()
    changes = inspection.report.capture.requires_grad_changes
    assert [change.extended_by for change in changes] == [
        ("Extended.freeze",) if kind is Extended else () for kind in kinds
    ]

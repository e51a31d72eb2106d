"""Imported by the process that forks: what the inspector makes on its first use, each fork then has."""

import msgspec
import torch

import autograd_inspector
from autograd_inspector.views import archive

with autograd_inspector.inspect() as inspection:
    torch.ones(2, requires_grad=True).exp()  # No backward: where torch has threads for it, no fork would get them.
inspection.report.to_json()
inspection.report.to_text()


def below(kind):
    """All classes that derive from one."""
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


for record in {each for each in below(msgspec.Struct) if each.__module__.startswith("autograd_inspector.model.")}:
    archive._fractional(record)  # Which fields hold floats is worked out for each kind of record.

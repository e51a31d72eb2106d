"""Attributes that look as if they froze something and are plain Python attributes: ``module.requires_grad = False``."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from types import CodeType

from torch import nn

from autograd_inspector.capture.lines.attributes import entries_of
from autograd_inspector.capture.lines.sources import source_at
from autograd_inspector.capture.module_tree import parameters_of
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modules import own_parameters
from autograd_inspector.capture.torch_private.resolving import read_own
from autograd_inspector.model.program_events import PlainAttributeSet
from autograd_inspector.source.constants_assigned import ConstantsAssigned

_MISSPELT = ("require_grad", "requires_grads", "require_grads", "required_grad", "requires_gradient")


def plain_attributes(recording: Recording, modules: Iterable[nn.Module]) -> Iterator[tuple[str, int]]:
    """(attribute, parameter concerned) of all those modules and their parameters that carry such an attribute."""
    for module in modules:
        if read_own(module, "requires_grad") is False:
            yield from (("requires_grad", recording.id_of(parameter)) for parameter in parameters_of(module))
        for _, parameter in entries_of(own_parameters(module)):
            if parameter is None:
                continue
            attributes = parameter.__dict__
            if attributes:
                yield from ((name, recording.id_of(parameter)) for name in _MISSPELT if attributes.get(name) is False)


def note_plain_attributes(recording: Recording, attributes: dict[str, dict[int, None]]) -> None:
    """Note what was found, with the line that set it."""
    effective = (
        {recording.stacks.line_of(change.site) for change in recording.requires_grad_changes} if attributes else set()
    )
    for name, tensors in attributes.items():
        sites = [site for line, site in assignments(recording, name, "False") if line not in effective]
        site = sites[0] if sites else -1
        recording.events.append(PlainAttributeSet(len(recording.ops), site, name, tuple(tensors)))


def assignments(recording: Recording, name: str, value: str) -> Iterator[tuple[tuple[str, int], int]]:
    """((file, line), site) of every ``x.<name> = <value>`` in the files that the program was seen to run.

    ``value``: True, False or None; "": what is no constant.
    """
    codes: dict[str, dict[int, CodeType]] = {}
    for chain in recording.stacks.chains:
        for code, _, library in chain:
            if not library:
                codes.setdefault(code.co_filename, {}).setdefault(code.co_firstlineno, code)
    for filename, code_at_line in codes.items():
        source = source_at(filename)
        lines = source.index(ConstantsAssigned).lines_of(name, value) if source is not None else ()
        first = sorted(code_at_line) if lines else []
        for line in lines:
            above = bisect_right(first, line) - 1
            best = code_at_line[first[above]] if above >= 0 else code_at_line[first[-1]]
            yield (filename, line), recording.stacks.of_code(best, line)

"""Torch calls, in program order."""

from __future__ import annotations

from enum import IntFlag
from typing import Literal

from msgspec import Struct


class Trait(IntFlag):
    """What an op is, beyond its name."""

    CUT = 1
    """An input required grad and nothing that it returned or wrote does."""
    BACKWARD = 2
    """It ran inside the autograd engine: a hook, a custom backward, or a checkpoint's recomputation."""
    EXPORT = 4
    """Its result is no tensor: the value left torch (item, tolist, numpy, ...)."""
    FUNCTION = 8
    """A custom autograd.Function's apply."""
    ALIAS = 16
    """Returns an alias with a version counter of its own (.data)."""
    COLLECTIVE = 32
    """Communication between processes, which autograd does not record."""
    INNER = 64
    """It ran inside a custom Function's forward, where autograd does not record."""
    AUTOCAST = 128
    """Autocast was on."""
    STEP = 256
    """An optimizer step, folded into one record."""
    EVALUATES = 512
    """It was told that nothing is being trained, and does otherwise then: dropout, a norm of running statistics."""
    DRAWS = 1024
    """It drew random numbers as it was told to: a dropout in training."""
    UNTOLD = 2048
    """It drew, and nobody had told it whether anything is being trained: a dropout."""
    CONSTANT = 4096
    """It normalises over one element: its result is the same whatever goes in."""
    PICKS = 8192
    """It takes the elements nearest to where its last input points: the derivative by that input is zero."""
    OPAQUE = 16384
    """A call whose inside was not seen: which of its inputs met there is not known."""


class Write(Struct, frozen=True, gc=False):
    """A tensor was modified in place. ``before == after``: no version counter moved, so autograd cannot see it."""

    tensor: int
    storage: int
    before: int
    after: int

    @property
    def unseen(self) -> bool:
        """Autograd's check cannot notice this write."""
        return self.before == self.after


class Op(Struct, frozen=True, omit_defaults=True, gc=False):
    """One torch call.

    ``inputs`` and ``outputs`` are tensor ids, ``versions`` the inputs' version counters before the call (-1: has
    none). Autograd nodes with a sequence number in ``[first_seq, last_seq)`` were made by it
    (``torch.autograd._get_sequence_nr``). ``call`` is the module call it ran in, ``region`` the grad-mode region.
    """

    index: int
    name: str
    inputs: tuple[int, ...]
    versions: tuple[int, ...]
    outputs: tuple[int, ...]
    site: int
    call: int = -1
    region: int = 0
    traits: int = 0
    first_seq: int = -1
    last_seq: int = -1
    writes: tuple[Write, ...] = ()
    error: str = ""

    @property
    def recorded(self) -> bool:
        """Whether autograd recorded it: it made nodes."""
        return self.last_seq > self.first_seq

    def has(self, trait: Trait) -> bool:
        """Whether the op has that trait."""
        # int's own `&`: an IntFlag on the right would take the operation over, at ten times the cost.
        return int.__and__(self.traits, trait) != 0


RegionKind = Literal["enabled", "no_grad", "inference_mode"]


class Region(Struct, frozen=True, omit_defaults=True):
    """A stretch of the program under one grad mode.

    ``api`` is what switched it ("torch.no_grad()", "torch.set_grad_enabled(False)", "custom Function", "" for the
    state at entry). ``decorated`` is the function that a decorator wraps, ``definition`` the site of its decorator;
    of one that got the mode otherwise ``wrapped`` tells what is at that site: where it was wrapped, or defined.
    ``library`` is the torch module that switched on its own account, as checkpointing does. ``condition`` is the site
    that set the variable by which ``set_grad_enabled`` was told the mode, as far as the source shows it.
    """

    id: int
    kind: RegionKind
    api: str = ""
    site: int = -1
    decorated: str = ""
    definition: int = -1
    library: str = ""
    at: int = 0
    wrapped: Literal["", "wrapped", "defined"] = ""
    condition: int = -1

    @property
    def at_entry(self) -> bool:
        """The program was in this mode before the capture began."""
        return not self.api


class ModuleCall(Struct, frozen=True, omit_defaults=True, gc=False):
    """One call of one nn.Module: class, and which call of that module it was (from 1).

    ``path`` is its qualified name within its root ("" for the root itself), ``root`` the root's index in ``models``,
    ``at`` how many ops had run when it began.
    """

    id: int
    path: str
    type: str
    root: int = -1
    nth: int = 1
    parent: int = -1
    site: int = -1
    inplace: bool = False
    at: int = 0
    training: bool = True

    @property
    def name(self) -> str:
        """Its path, or its class where it is a root."""
        return self.path or self.type

"""What a rule wants done to the program, in terms of what ran where; :mod:`autograd_inspector.edits` writes it.

Each remedy names places that were observed. Whether the text there can be changed accordingly is for the syntax to
say: where it cannot, there is no edit.
"""

from __future__ import annotations

from typing import Literal

from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy_base import Remedy


class TakeOff(Remedy, frozen=True):
    """Leave out the call or attribute that runs at a place, and what it works on stays: ``x`` of ``x.detach()``.

    Also what else lies around the value and copies it without its history: ``loss`` of ``torch.tensor(loss.item())``.
    ``joined``: what makes one tensor of a list of values, "torch.stack({})"; ``shown``: only of a list that is written
    out, with its numbers and rows: a matrix of cosines and zeros.
    """

    at: Location
    joined: str = "{}"
    shown: bool = False


class OutOfPlace(Remedy, frozen=True):
    """Compute a new tensor where the statement at a place modifies one: ``x = x.add(1)`` for ``x.add_(1)``.

    ``copied``: what has no such form works on a copy: ``x = x.clone().fill_(1)``. ``views``: so many subscripts, calls
    and attributes, counted from the end, show a part of a tensor, which is ``cache["k"]`` of ``cache["k"][0].add_(1)``;
    -1 where that is not known. ``read_later``: something reads what was written, and so has to find the new tensor.
    """

    at: Location
    copied: bool = False
    views: int = -1
    read_later: bool = False


class NotInPlace(Remedy, frozen=True):
    """Make the modules of a class with inplace=False: in the file of the place that called one, wherever it says True.

    Their results are the same.
    """

    at: Location
    module: str


class Register(Remedy, frozen=True):
    """Let a module know what the statement at a place gives it as a plain attribute.

    A list becomes a ModuleList, or with ``parameters`` a ParameterList; what is no list becomes a Parameter.
    """

    at: Location
    parameters: bool = False


class Remove(Remedy, frozen=True):
    """Leave out the statement at a place; ``calling``: only one that is a call of a function of that name."""

    at: Location
    calling: str = ""


class Insert(Remedy, frozen=True):
    """Put a statement before or behind the one at a place; ``outside_loops``, beside the outermost loop around it.

    ``once``: there is no such place that each round of a loop runs.
    """

    at: Location
    text: str
    where: Literal["before", "behind"] = "before"
    outside_loops: bool = False
    once: bool = False


class Move(Remedy, frozen=True):
    """Put the statement at one place before or behind that at another, in the block that both are in.

    ``read``: the other one is to read what this one sets, so that it computes with something else.
    """

    at: Location
    to: Location
    where: Literal["before", "behind"] = "behind"
    read: bool = False


class SetArgument(Remedy, frozen=True):
    """Give the call of a function at a place a keyword argument that value; "" leaves the argument out.

    ``{}`` in the value stands for the one that it has.
    """

    at: Location
    function: str
    name: str
    value: str


class Rename(Remedy, frozen=True):
    """Let the call at a place call another function, or read another attribute, of the same owner."""

    at: Location
    name: str


class Substitute(Remedy, frozen=True):
    """Write ``new`` wherever the statement at a place reads ``old``; "" for all that the statement computes.

    ``{}`` in ``new`` stands for what was there.
    """

    at: Location
    old: str
    new: str


class Operand(Remedy, frozen=True):
    """Compute with something else in place of one operand of the expression at a place; ``{}`` is what was there.

    "whole": the expression itself. "first" is the receiver of a method, the first argument of a function, or what
    stands left of an operator; "last" the last positional argument, or what stands right of it. "argument" is the
    first argument, of a method as well.
    """

    at: Location
    which: Literal["whole", "first", "last", "argument"]
    new: str


class StraightThrough(Remedy, frozen=True):
    """Give the result of the op at a place the gradient of its first operand: ``x + (x.round() - x).detach()``.

    ``soft``: where the operand is read, in another expression; ``call`` makes of it what the gradient goes to, a
    ``.softmax(-1)`` of the logits of a one-hot vector. ``between``: of the difference of the two sides of a comparison.
    """

    at: Location
    soft: Location | None = None
    call: str = ""
    between: bool = False


class Wrap(Remedy, frozen=True):
    """Put the statement at a place into a block: ``head`` is the line that opens it."""

    at: Location
    head: str


class Again(Remedy, frozen=True):
    """Run the statement at a place again right before, or behind, another one; ``once``: not in a loop."""

    at: Location
    to: Location
    where: Literal["before", "behind"] = "before"
    once: bool = False


class Hoist(Remedy, frozen=True):
    """Run the statement at a place before the loop that it is in, in the block of another statement."""

    at: Location
    to: Location


class Undecorate(Remedy, frozen=True):
    """Take the decorator at a place off its function."""

    at: Location


class Unblock(Remedy, frozen=True):
    """Take the context manager that the head of a ``with`` enters at a place away, and keep the block.

    ``ran``: statements of the block that have to leave it. Where some of the others can stay inside, they do.
    """

    at: Location
    ran: tuple[Location, ...] = ()


class RunOnce(Remedy, frozen=True):
    """Run the statement at a place once, before the outermost loop around it, with the loop inside that it is in."""

    at: Location


class SetEverywhere(Remedy, frozen=True):
    """Give a setting another value wherever the file of the place says it: as a keyword argument or in a dict."""

    at: Location
    name: str
    old: str
    new: str


class WriteInto(Remedy, frozen=True):
    """Write what the statement at a place computes from a tensor into that tensor: ``p -= x`` for ``p = p - x``.

    ``recorded``: grad mode is on there, so that the statement needs a no_grad block. ``behind``: a statement about the
    tensor to put behind it, with ``{}`` for the tensor.
    """

    at: Location
    recorded: bool
    behind: str = ""


class BindNow(Remedy, frozen=True):
    """Let the function made at a place keep the values that some variables have there; (): those of its loop."""

    at: Location
    names: tuple[str, ...]


class KeepOwnPart(Remedy, frozen=True):
    """Put the tensor that ``all_gather`` is given at a place back into its list, in the place of this rank."""

    at: Location


class BackwardFrom(Remedy, frozen=True):
    """Call ``backward()`` on the loss that the statement at a place computes, right behind it."""

    at: Location


class Unwrap(Remedy, frozen=True):
    """Use what a function is given at a place in place of its result: ``x`` of ``torch.softmax(x, 1)``.

    ``module``: it is an attribute that holds a module, and no method of what it is read from.
    """

    at: Location
    function: str
    module: bool = False


class OtherModule(Remedy, frozen=True):
    """Make modules of another class wherever the file of the place makes those of one, with the same keywords."""

    at: Location
    module: str
    new: str


class SwapArguments(Remedy, frozen=True):
    """Give the call at a place its first two arguments the other way round."""

    at: Location


class LeaveThere(Remedy, frozen=True):
    """Leave out what the statement at a place moves to a device: ``v`` of ``v.to("meta")``."""

    at: Location
    device: str


class EachItsOwn(Remedy, frozen=True):
    """Fill the list that the call at a place is given with modules of their own: not ``[layer] * 3``."""

    at: Location


class ReturnNew(Remedy, frozen=True):
    """Let the hook that modifies a gradient at a place return a new one."""

    how: OutOfPlace


class Freeze(Remedy, frozen=True):
    """Freeze what the statement at a place only seems to: by an attribute that nobody reads, or by `detach()`."""

    at: Location


class AddUp(Remedy, frozen=True):
    """Let the sum at a place, which an index selects the places of, count each of several for one place."""

    at: Location


class ReturnAlso(Remedy, frozen=True):
    """Let the function around a place return so many times None behind what it returns: a Function's backward."""

    at: Location
    missing: int


class ChainRule(Remedy, frozen=True):
    """Multiply what the function around a place returns, a Function's backward, by the gradient that it is given."""

    at: Location


Remedies = tuple[Remedy, ...]
"""All of them together are one way to cure a problem."""

"""Remedies that rewrite a construct of the program as a whole: a loop, a property, a list, a block."""

from __future__ import annotations

from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy_base import Remedy


class IntoParameter(Remedy, frozen=True):
    """Copy the values into the tensor that is there, where the statement at a place puts a new one of that shape.

    ``w.copy_(v)`` for ``w = nn.Parameter(v)``, and for ``w = v.requires_grad_()``.
    """

    at: Location


class AsProperty(Remedy, frozen=True):
    """Compute what the statement at a place gives an attribute of ``self`` each time that it is read."""

    at: Location


class Reenter(Remedy, frozen=True):
    """Enter another mode at a place: ``@torch.no_grad()`` for ``@torch.inference_mode()``, in a ``with`` as well."""

    at: Location
    name: str


class EnterHere(Remedy, frozen=True):
    """Enter the context that the statement at a place only makes, around the statement behind it."""

    at: Location


class TrueDivision(Remedy, frozen=True):
    """Divide without rounding, ``/`` for ``//``, in the function or lambda that the place is of."""

    at: Location


class AsList(Remedy, frozen=True):
    """Keep a list of what an iterator yields that the call at a place is given by a name, which was used up before."""

    at: Location


class Convert(Remedy, frozen=True):
    """Give what the statement at a place assigns to an attribute the dtype and device of the attribute's owner.

    ``m.grad = g.to(m)`` for ``m.grad = g``; ``shape``: and its shape.
    """

    at: Location
    shape: bool = False


class WriteBack(Remedy, frozen=True):
    """Copy values the other way round in a loop behind the statement at ``to``, over the pairs of another loop.

    The one at the place gives gradients, ``for copy, p in zip(copies, model.parameters()): copy.grad = p.grad``.
    """

    at: Location
    to: Location


class Share(Remedy, frozen=True):
    """Use one parameter in both places, ``a.weight = b.weight`` for ``a.weight.data = b.weight.data``."""

    at: Location


class AlsoGiven(Remedy, frozen=True):
    """Give the call at a place another variable too, which gets what the call returns for it."""

    at: Location
    name: str


class SwapParts(Remedy, frozen=True):
    """Put the two parts of what the call at a place is given first the other way round: ``b + a`` for ``a + b``."""

    at: Location


class AddInPlace(Remedy, frozen=True):
    """Add what the statement at a place computes in each round to its variable, which begins with zero.

    It does so before the outermost loop around it that the statement at ``to`` is not in.
    """

    at: Location
    to: Location


class BesideCall(Remedy, frozen=True):
    """Run the statement at a place right behind the one call of that method, of the same owner, in its function."""

    at: Location
    method: str


class AlsoDetach(Remedy, frozen=True):
    """Cut off, too, the other values of the tuple that the expression at a place is a part of."""

    at: Location


class SwapReturned(Remedy, frozen=True):
    """Let the backward around a place return two of its gradients in each other's place."""

    at: Location
    one: int
    other: int


class DetachAssigned(Remedy, frozen=True):
    """Cut off what the statement at a place assigns to one of its targets, ``a, b = x.detach(), y``."""

    at: Location
    target: str


class DeepCopy(Remedy, frozen=True):
    """Copy as a whole what the statement, the class around it, or else the file, copies with ``copy.copy``, once."""

    at: Location


class OwnCopy(Remedy, frozen=True):
    """Assign a deep copy, which is frozen, where the statement at a place assigns a model that has a name already."""

    at: Location


class Unfreeze(Remedy, frozen=True):
    """Let what the loop around a place freezes, one parameter a round, require grad again before a statement.

    ``for p in net.parameters(): p.requires_grad = False``, and for the one call on a module.
    """

    at: Location
    to: Location


class ReturnGradient(Remedy, frozen=True):
    """Let the backward around a place return the gradients of some inputs of its Function, not None or zeros."""

    at: Location
    inputs: tuple[int, ...]


class ReturnIt(Remedy, frozen=True):
    """Let the function around a place return what the statement there, its last one, computes."""

    at: Location


class ReturnAtEnd(Remedy, frozen=True):
    """Let the function around a place, which returns nothing, return a variable of its own at its end."""

    at: Location
    name: str


class FiniteMask(Remedy, frozen=True):
    """Write a large negative number wherever the statement at a place says minus infinity."""

    at: Location
    number: str


class RootOfVariance(Remedy, frozen=True):
    """Take the root of the variance and a little more for the std at a place; ``biased``: divide by n, not by n - 1."""

    at: Location
    biased: bool = False


class BoundBase(Remedy, frozen=True):
    """Clamp the base of the power at a place, so that no result is beyond the ``largest`` number of its dtype."""

    at: Location
    largest: float


class AsFunction(Remedy, frozen=True):
    """Call another function of torch, of the one argument or receiver that the call at a place computes from."""

    at: Location
    function: str


class MadeWith(Remedy, frozen=True):
    """Give a keyword argument to the modules of a class, wherever the file of the place makes one."""

    at: Location
    module: str
    name: str
    value: str


class Spread(Remedy, frozen=True):
    """Compute ``start + (end - start) * torch.linspace(0, 1, n)`` for the linspace at a place, by its ends' graph."""

    at: Location


class SampleThrough(Remedy, frozen=True):
    """Give what is made at a place of a discrete sample the gradient of the probabilities that it was drawn with.

    ``draw`` is where a distribution's ``sample()`` is called; ``hard + p - p.detach()`` for ``hard``.
    """

    at: Location
    draw: Location


class GoOn(Remedy, frozen=True):
    """Go on with the next round where the statement at a place returns from within a loop."""

    at: Location


class KeepResult(Remedy, frozen=True):
    """Give what the statement at a place calls a method on the result that the statement drops: ``x = x.relu()``.

    ``argument``: it calls a function with that first, ``x = scaled(x)``.
    """

    at: Location
    argument: bool = False


class NotCopied(Remedy, frozen=True):
    """Give the call at a place a model itself and no ``copy.deepcopy()`` of it, or what else ``by`` calls copying.

    ``called``: only where the copy itself is called there, and nothing keeps it.
    """

    at: Location
    by: str = "deepcopy"
    called: bool = False


class IntoBuffer(Remedy, frozen=True):
    """Register as a buffer what the statement at a place gives a module as a parameter."""

    at: Location


class EnterInRounds(Remedy, frozen=True):
    """Enter the context of the ``with`` statement at a place in each round of the loop that is all of its block."""

    at: Location


class CutCarried(Remedy, frozen=True):
    """Let a variable go into the next round without its history, ``value`` with ``{}`` for what it is.

    Where statements behind the one at a place, of the same loop, bind it: there. Otherwise right behind that one.
    ``read_later``: only if a statement behind it reads the variable, to keep it.
    """

    at: Location
    name: str
    value: str
    read_later: bool = False


class CutAtEntry(Remedy, frozen=True):
    """Cut an attribute off from its history before the first statement around a place that reads it.

    ``value`` is what it becomes, with ``{}`` for what it is.
    """

    at: Location
    name: str
    value: str


class KeepLast(Remedy, frozen=True):
    """Let an attribute keep a list of the one item that the statement at a place appends: none of the earlier ones."""

    at: Location


class CallWith(Remedy, frozen=True):
    """Call a module with a computed tensor in the place of its parameter, by ``torch.func.functional_call``.

    The statement at the place gives the parameter the values, ``net.weight.data = w``; ``call`` is where it is called.
    """

    at: Location
    call: Location


class OffData(Remedy, frozen=True):
    """Modify a tensor itself where the call at a place modifies its ``.data``, or what ``detach()`` returns of it."""

    at: Location


class FreezeRows(Remedy, frozen=True):
    """Zero the gradient of a part of a parameter by a hook, for ``w[:n].requires_grad = False`` at a place."""

    at: Location


class OthersLeftOut(Remedy, frozen=True):
    """Leave out of the general group what the other groups have, of the list of groups in the file of a place."""

    at: Location


class InConstructor(Remedy, frozen=True):
    """Call the method that the statement at a place calls on ``self`` once, at the end of the class's ``__init__``."""

    at: Location


class AssignCompared(Remedy, frozen=True):
    """Assign where the statement at a place only compares: ``flag = True`` for ``flag == True``."""

    at: Location


class CallBackward(Remedy, frozen=True):
    """Call ``backward()`` before the statement at a place on a loss, which may be a part of what the variable has."""

    at: Location
    name: str


class GradOfWhole(Remedy, frozen=True):
    """Differentiate by a whole tensor, and take the part of the result: ``grad(u, xt)[:, 1:]`` for ``grad(u, t)``.

    The call at a place is given the part, which the statement at ``made`` took by a subscript.
    """

    at: Location
    made: Location


class CallFunctional(Remedy, frozen=True):
    """Call the module at a place with the parameters that the function around it is given, and reads nowhere."""

    at: Location


class SoftLookup(Remedy, frozen=True):
    """Weight the rows of an embedding, which the call at a place looks up by an index, by the scores of that index.

    ``index`` is where the index is made of the scores; ``call`` makes probabilities of them, ".softmax(-1)".
    """

    at: Location
    index: Location
    call: str


class Unguard(Remedy, frozen=True):
    """Compute every time what the statement at a place keeps, not only where nothing is kept yet."""

    at: Location


class StepsLast(Remedy, frozen=True):
    """Run the step at a place in a loop of its own behind the loop that it is in, with all backwards before it."""

    at: Location
    backward: Location

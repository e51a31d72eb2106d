"""What the program did to modules, and which results it let go."""

from __future__ import annotations

from typing import Literal

from autograd_inspector.model.program_events.event import ProgramEvent


class ParameterRegistered(ProgramEvent, frozen=True):
    """A module got a parameter, as its attribute ``name``."""

    type: str
    name: str
    tensor: int

    @property
    def api(self) -> str:
        """The attribute."""
        return f"{self.type}.{self.name}"

    @property
    def tensors(self) -> tuple[int, ...]:
        """The parameter."""
        return (self.tensor,)


class ModuleAttached(ProgramEvent, frozen=True):
    """A module got another one that has these parameters; ``path`` is its place in a model that was met before."""

    type: str
    name: str
    path: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The attribute."""
        return f"{self.type}.{self.name}"


class ModuleReattached(ProgramEvent, frozen=True):
    """A module of class ``type`` got one, under ``name``, that was put into another module before."""

    type: str
    name: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The attribute."""
        return f"{self.type}.{self.name}"


class ModuleExchanged(ProgramEvent, frozen=True):
    """The attribute ``name`` of a module had a module of class ``type``, and got another one.

    ``pairs``: the parameters of the one that went, and those of the one that came.
    """

    type: str
    name: str
    pairs: tuple[tuple[int, ...], ...]

    @property
    def api(self) -> str:
        """The attribute."""
        return self.name

    @property
    def tensors(self) -> tuple[int, ...]:
        """Those of both."""
        return tuple(tensor for pair in self.pairs for tensor in pair)


class ModuleCopied(ProgramEvent, frozen=True):
    """``copy.copy`` made a module of class ``type``, which has the very parameters of the one that it is a copy of."""

    type: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The call."""
        return f"copy.copy({self.type})"


class ModelContained(ProgramEvent, frozen=True):
    """A model that was met by itself, number ``model``, is seen to be a part of another one, ``into``, at ``path``."""

    model: int
    into: int
    path: str

    @property
    def api(self) -> str:
        """Its place there."""
        return self.path


class ModuleRepeated(ProgramEvent, frozen=True):
    """A list of modules got one that it had already, with these parameters: ``nn.ModuleList([layer] * 3)``."""

    type: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The class of the list."""
        return self.type


class ModuleCleared(ProgramEvent, frozen=True):
    """``zero_grad()`` of a module that has these parameters, whether or not they had gradients."""

    type: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.zero_grad()"


class GradientsGone(ProgramEvent, frozen=True):
    """Gradients of these parameters that a backward stored were None at a step of the same compiled call.

    Nothing observed took them away: what Dynamo applies between two graphs calls nothing. ``at`` is the step's;
    ``site`` the line between the two that clears, else the backward's.
    """

    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """What compiled code did."""
        return ".grad = None"


class ParameterWrapped(ProgramEvent, frozen=True):
    """``nn.Parameter(t)`` made a new leaf of a tensor with a history."""

    tensor: int

    @property
    def api(self) -> str:
        """The class."""
        return "nn.Parameter"

    @property
    def tensors(self) -> tuple[int, ...]:
        """The new leaf."""
        return (self.tensor,)


class WrittenInLoop(ProgramEvent, frozen=True):
    """A loop, whose head is at ``site``, has the line at site ``made`` in it, which writes to several parameters."""

    made: int

    @property
    def api(self) -> str:
        """What it is."""
        return "loop"


class ParametersConverted(ProgramEvent, frozen=True):
    """``method`` of a module moved or cast its parameters: ``to``, ``half``, ``cuda``."""

    type: str
    method: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.{self.method}()"


class ModelLoaded(ProgramEvent, frozen=True):
    """``load_state_dict`` of a module; with ``assign`` the parameters are others than before.

    ``pairs``: two parameters where both names, those of ``pair_names``, had one until then.
    """

    type: str
    tensors: tuple[int, ...]
    assign: bool = False
    pairs: tuple[tuple[int, ...], ...] = ()
    pair_names: tuple[tuple[str, str], ...] = ()

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.load_state_dict()"


class HooksLost(ProgramEvent, frozen=True):
    """``load_state_dict(assign=True)`` of a module put parameters without hooks in the place of some that had hooks.

    ``pairs``: of each the parameter that had them, and the new one.
    """

    type: str
    pairs: tuple[tuple[int, ...], ...]

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.load_state_dict(assign=True)"

    @property
    def tensors(self) -> tuple[int, ...]:
        """Those of both."""
        return tuple(tensor for pair in self.pairs for tensor in pair)


class NamesUnmatched(ProgramEvent, frozen=True):
    """A module was given tensors under names that it has not, and has others under names that it was not given.

    ``method``: ``load_state_dict``, which was not strict (``tensors`` are the module's parameters), or
    ``functional_call`` (what it was given in vain). ``given`` counts all names, ``unmatched`` those in vain, ``left``
    what the module has beside; ``names`` and ``own`` are the first of these.
    """

    type: str
    method: str
    tensors: tuple[int, ...]
    given: int
    unmatched: int
    left: int
    names: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.{self.method}()" if self.method == "load_state_dict" else f"{self.method}({self.type})"

    @property
    def in_vain(self) -> bool:
        """Whether no name matches."""
        return self.unmatched >= self.given


class ModelsShared(ProgramEvent, frozen=True):
    """``name`` has the very parameters of another model: it is that model, or a shallow copy of it (``copied``).

    ``count`` models have these ``tensors``, the first of them is ``model``; ``site`` is the line that gave it the name.
    """

    name: str
    model: int
    count: int
    tensors: tuple[int, ...]
    copied: bool

    @property
    def api(self) -> str:
        """The name."""
        return self.name


class ModuleHookRegistered(ProgramEvent, frozen=True):
    """A module got a hook of that name by ``method``; ``path`` is its place in a model that was met before.

    ``again``: so many hooks from the same place of the program it had already. ``returns``: the lines of a forward hook
    that return something in place of the module's output. ``changed``: variables that it shares with the hook that the
    same place made before, and that had another value when that one was registered. ``stores``: the lines of a forward
    hook that set an entry or an attribute. ``tensors``: the parameters of the module, where they are few and the
    hook is one on its forward that the program wrote.
    """

    type: str
    hook: str
    method: str = "register_full_backward_hook"
    path: str = ""
    again: int = 0
    returns: tuple[int, ...] = ()
    changed: tuple[str, ...] = ()
    stores: tuple[int, ...] = ()
    tensors: tuple[int, ...] = ()

    @property
    def api(self) -> str:
        """The call."""
        return f"Module.{self.method}()"

    @property
    def backward(self) -> bool:
        """Whether it is given gradients."""
        return "backward" in self.method


class ResultDiscarded(ProgramEvent, frozen=True):
    """What was computed of these parameters, and has their shape, was used for nothing and is gone.

    ``name`` is the last op that did so there, ``at`` its index. ``of`` their gradients, or of other values: these are
    ``tensors`` then. ``written``: it wrote to what had just been computed. ``in_hook``: a hook on these tensors, which
    returns nothing, computed it of gradients. ``function``: this one of the program's own returned it, to the caller
    at ``site`` that dropped it.
    """

    name: str
    tensors: tuple[int, ...]
    written: bool = False
    in_hook: bool = False
    of: Literal["parameters", "gradients", "values"] = "parameters"
    function: str = ""

    @property
    def api(self) -> str:
        """The op."""
        return self.name


class CalledElsewhere(ProgramEvent, frozen=True):
    """A module of class ``type`` was called in a thread that is no part of the capture: what it computed is not known.

    ``tensors`` are those of its parameters that the capture knows. ``recorded``: grad mode is on in that thread.
    ``switch`` is what had switched it off in the capture's own thread meanwhile, at ``made``; "": it was on there too.
    ``site``: the call; ``waiting``: where the capture's own thread was.
    """

    type: str
    tensors: tuple[int, ...]
    recorded: bool
    switch: str = ""
    made: int = -1
    waiting: int = -1

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}()"


class ModeBranchRead(ProgramEvent, frozen=True):
    """A condition on a module's ``training``, with the lines of one of its branches, counted from its own.

    Read off the program's functions.
    """

    begins: int
    ends: int

    @property
    def api(self) -> str:
        """What is read."""
        return "training"

"""What the program did to whole modules and whole optimizers: one record a kind, in program order in a capture."""

from __future__ import annotations

from msgspec import Struct


class ProgramEvent(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=True):
    """What all of them have: ``at`` is the op index then; ``type`` names the class of the module or the optimizer.

    ``tensors`` are ids after the event.
    """

    at: int
    site: int

    @property
    def api(self) -> str:
        """What the program called or assigned."""
        raise NotImplementedError

    @property
    def tensors(self) -> tuple[int, ...]:
        """The tensors concerned."""
        return ()

    @property
    def optimizer(self) -> int:
        """The optimizer concerned, -1 for none."""
        return -1


# --- modules ---------------------------------------------------------------------------------------------------------


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
    """``load_state_dict`` of a module; with ``assign`` the parameters are others than before."""

    type: str
    tensors: tuple[int, ...]
    assign: bool = False

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.load_state_dict()"


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


class PlainAttributeSet(ProgramEvent, frozen=True):
    """Something was set to False that looks as if it froze these parameters, and that torch does not read."""

    attribute: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The attribute."""
        return self.attribute


class RequiresGradCompared(ProgramEvent, frozen=True):
    """A statement compares ``requires_grad`` with what it wanted (``p.requires_grad == True``) and drops the result."""

    tensor: int
    wanted: bool

    @property
    def api(self) -> str:
        """The attribute."""
        return "requires_grad"

    @property
    def tensors(self) -> tuple[int, ...]:
        """The tensor."""
        return (self.tensor,)


class ModuleHookRegistered(ProgramEvent, frozen=True):
    """A module got a hook of that name by ``method``; ``path`` is its place in a model that was met before.

    ``again``: so many hooks from the same place of the program it had already.
    """

    type: str
    hook: str
    method: str = "register_full_backward_hook"
    path: str = ""
    again: int = 0

    @property
    def api(self) -> str:
        """The call."""
        return f"Module.{self.method}()"

    @property
    def backward(self) -> bool:
        """Whether it is given gradients."""
        return "backward" in self.method


class ModeSwitched(ProgramEvent, frozen=True):
    """The program put a module into train or eval mode: ``path`` is its place in a model that was met before.

    ``looks``: it computed without gradients when it was called the next time, by no other module.
    """

    type: str
    training: bool
    model: int
    path: str = ""
    looks: bool = False

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.{'train' if self.training else 'eval'}()"


class OutputKeptOnContext(ProgramEvent, frozen=True):
    """The forward of a custom Function set ``ctx.<attribute>`` to what it returned: node and result hold each other.

    ``site`` is that line, ``at`` the op that is the Function's call.
    """

    function: str
    attribute: str

    @property
    def api(self) -> str:
        """The attribute."""
        return f"ctx.{self.attribute}"


class GradientModified(ProgramEvent, frozen=True):
    """The backward of a custom Function modified a gradient that it was given, in place; ``site`` is where.

    ``shared``: autograd had the same tensor for somebody else, who had not used it yet. None: that is not known.
    """

    function: str
    shared: bool | None = None

    @property
    def api(self) -> str:
        """The method."""
        return f"{self.function}.backward"


# --- optimizers ------------------------------------------------------------------------------------------------------


class OptimizerCreated(ProgramEvent, frozen=True):
    """An optimizer was made, of these parameters."""

    optimizer: int
    type: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The class."""
        return self.type


class ParametersRefused(ProgramEvent, frozen=True):
    """An optimizer did not take a group, for these parameters; () where it got none, or refused its settings.

    ``added``: it was there already, and the group was to be added to it.
    """

    type: str
    tensors: tuple[int, ...] = ()
    added: bool = False

    @property
    def api(self) -> str:
        """The class."""
        return self.type


class _Load(ProgramEvent, frozen=True):
    optimizer: int
    type: str

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.load_state_dict()"


class StateCast(Struct, frozen=True, gc=False):
    """A load made state of that name another dtype."""

    entry: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.entry}: {self.before} -> {self.after}"


class StateLoaded(_Load, frozen=True):
    """``load_state_dict`` of an optimizer that holds these parameters.

    ``left_training``: it put a schedule-free optimizer back into the eval mode that it was saved in.
    """

    tensors: tuple[int, ...]
    casts: tuple[StateCast, ...] = ()
    left_training: bool = False


class LoadRefused(_Load, frozen=True):
    """``load_state_dict`` raised ``error``.

    ``saved_groups`` and ``own_groups`` count the parameters of each group; ``saved_state`` names the entries.
    """

    tensors: tuple[int, ...]
    error: str
    saved_groups: tuple[int, ...] = ()
    own_groups: tuple[int, ...] = ()
    saved_state: tuple[str, ...] = ()


class StateSwapped(_Load, frozen=True):
    """A load gave parameters the state of others: ``pairs`` of (who got it, whose it was).

    ``by_name``: the names in the checkpoint's groups tell; else the state was still the living one of that parameter.
    """

    pairs: tuple[tuple[int, int], ...]
    by_name: bool = False

    @property
    def tensors(self) -> tuple[int, ...]:
        """Both of each pair."""
        return tuple(tensor for pair in self.pairs for tensor in pair)


class StateAbsent(_Load, frozen=True):
    """After a load these parameters have no state, while others have."""

    tensors: tuple[int, ...]


class ZeroGradCalled(ProgramEvent, frozen=True):
    """``zero_grad()`` of an optimizer."""

    optimizer: int
    type: str

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.zero_grad()"


class OptimizerModeMet(ProgramEvent, frozen=True):
    """A schedule-free optimizer was met in that mode, which it was not in at the look before.

    Looks are taken before steps, and when a model is called or saved: it was switched somewhere before.
    """

    optimizer: int
    type: str
    training: bool

    @property
    def api(self) -> str:
        """What switches to the mode."""
        return f"{self.type}.{'train' if self.training else 'eval'}()"


class UpdateDropped(ProgramEvent, frozen=True):
    """A step computed new values of these parameters, used them for nothing, and wrote none in a way that torch shows.

    ``site`` is where it computed the last of them.
    """

    optimizer: int
    type: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.step()"


class SchedulerMade(ProgramEvent, frozen=True):
    """A scheduler of an optimizer's learning rates was made; ``factors`` are the lines that return its factors."""

    optimizer: int
    type: str
    factors: tuple[int, ...] = ()

    @property
    def api(self) -> str:
        """The class."""
        return self.type


class SchedulerStepped(ProgramEvent, frozen=True):
    """``step()`` of a scheduler of that optimizer, but for the one that its constructor makes."""

    optimizer: int
    type: str

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.step()"


class OptionSet(ProgramEvent, frozen=True):
    """The source sets an option of an optimizer that it steps; read off the text."""

    optimizer: int
    type: str
    option: str

    @property
    def api(self) -> str:
        """The option."""
        return self.option


class StateStatement(ProgramEvent, frozen=True):
    """The source writes to optimizer state, read off the text.

    ``optimizer`` is the one whose class does it, -1: the program around it does. ``receiver`` is the expression that
    has the state, ``held`` the optimizer that it was when the function ran (-1: not seen), ``keys`` are there as far
    as they are written out.
    """

    receiver: str
    keys: tuple[str, ...] = ()
    optimizer: int = -1
    held: int = -1

    @property
    def api(self) -> str:
        """What has the state."""
        return self.receiver


class StateAssigned(StateStatement, frozen=True):
    """It assigns an entry."""


class StateRemoved(StateStatement, frozen=True):
    """It removes an entry."""


Event = (
    ParameterRegistered
    | ModuleAttached
    | ParameterWrapped
    | ParametersConverted
    | ModelLoaded
    | NamesUnmatched
    | PlainAttributeSet
    | RequiresGradCompared
    | ModuleHookRegistered
    | ModeSwitched
    | OutputKeptOnContext
    | GradientModified
    | OptimizerCreated
    | ParametersRefused
    | StateLoaded
    | LoadRefused
    | StateSwapped
    | StateAbsent
    | ZeroGradCalled
    | OptimizerModeMet
    | UpdateDropped
    | SchedulerMade
    | SchedulerStepped
    | OptionSet
    | StateAssigned
    | StateRemoved
)

"""What the program did to optimizers and their schedulers."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.model.program_events.event import ProgramEvent


class OptimizerCreated(ProgramEvent, frozen=True):
    """An optimizer was made, of these parameters; ``rates`` are the learning rates of its groups."""

    optimizer: int
    type: str
    tensors: tuple[int, ...]
    rates: tuple[float, ...] = ()

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


class GroupsMade(ProgramEvent, frozen=True):
    """The class of an optimizer makes its own ``param_groups`` there; read off the text."""

    optimizer: int
    type: str

    @property
    def api(self) -> str:
        """The attribute."""
        return f"{self.type}.param_groups"


class ParametersSelected(ProgramEvent, frozen=True):
    """A line picks parameters by a condition, near the line at site ``made`` that gives an optimizer its own.

    ``ordered``: it sorts, reverses or shuffles instead.
    """

    made: int
    ordered: bool = False

    @property
    def api(self) -> str:
        """What it is."""
        return "selection"


class ParametersCollected(ProgramEvent, frozen=True):
    """A statement puts together what the line at site ``made`` gives an optimizer; read off the text.

    ``conditional``: whether it ran is for a condition to say.
    """

    made: int
    conditional: bool = False

    @property
    def api(self) -> str:
        """What it is."""
        return "parameters"


class ClippedIterator(ProgramEvent, frozen=True):
    """A line at site ``made`` makes what the clipping is given, perhaps an iterator; read off the text."""

    made: int = -1

    @property
    def api(self) -> str:
        """What it is."""
        return "parameters"


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


class OptionReplaced(Struct, frozen=True, gc=False):
    """A load gave a group another number for an option than ``before``, which the program had set: no default."""

    group: int
    option: str
    before: float
    after: float


class StateLoaded(_Load, frozen=True):
    """``load_state_dict`` of an optimizer that holds these parameters.

    ``left_training``: it put a schedule-free optimizer back into the eval mode that it was saved in. ``scheduled``: it
    brought state of steps, and a scheduler had set the learning rates of its groups. ``replaced``: what the groups of
    the file have of their own; not the rates that a scheduler had set.
    """

    tensors: tuple[int, ...]
    casts: tuple[StateCast, ...] = ()
    left_training: bool = False
    scheduled: bool = False
    replaced: tuple[OptionReplaced, ...] = ()


class StateSaved(ProgramEvent, frozen=True):
    """``state_dict()`` of an optimizer."""

    optimizer: int
    type: str

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.state_dict()"


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


class LiveStateLoaded(_Load, frozen=True):
    """A load gave the optimizer of these parameters its own tensors, updated since they were taken at site ``made``."""

    tensors: tuple[int, ...]
    made: int


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


class _Step(ProgramEvent, frozen=True):
    optimizer: int
    type: str

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.step()"


class StepNested(_Step, frozen=True):
    """A step of the optimizer calls that of another one, ``inner``, with the same parameters and options.

    ``rates``: the learning rates of the inner one, which are others than those of the optimizer.
    """

    inner: str
    rates: tuple[float, ...]


class UpdateDropped(_Step, frozen=True):
    """A step computed new values of these parameters, used them for nothing, and wrote none in a way that torch shows.

    ``site`` is where it computed the last of them.
    """

    tensors: tuple[int, ...]


class AverageLeft(_Step, frozen=True):
    """A step computed a new tensor of ``state[p][entry]`` and of a gradient, kept it nowhere, and wrote no such entry.

    ``scaled`` is the call that read the entry, ``added`` the one where the gradient came in (the same of ``lerp``), at
    ``site``; ``maker`` is the call that had made the entry. ``tensors`` are the parameters.
    """

    tensors: tuple[int, ...]
    entry: str
    maker: str
    scaled: str
    added: str


class StepLeftEarly(_Step, frozen=True):
    """A step moved no parameter behind the first one without a gradient; ``tensors`` are those that had one.

    ``site`` is where the optimizer's class returns from within its loop; -1 not known.
    """

    tensors: tuple[int, ...]


class SteppedAccumulating(_Step, frozen=True):
    """An optimizer was stepped when a library accumulated the gradients of ``steps`` micro-batches for one step.

    ``due``: of the last of them.
    """

    steps: int
    due: bool


class ScalerRefused(ProgramEvent, frozen=True):
    """A GradScaler refused ``method`` for that optimizer: ``unscale_`` or ``step`` out of order."""

    optimizer: int
    type: str
    method: str

    @property
    def api(self) -> str:
        """The call."""
        return f"GradScaler.{self.method}({self.type})"


class SparseGradientsMet(_Step, frozen=True):
    """A step raised because of the layout of its gradients; those of these parameters were sparse."""

    tensors: tuple[int, ...]


class SchedulerMade(ProgramEvent, frozen=True):
    """A scheduler of an optimizer's learning rates was made; ``factors`` are the lines that return its factors.

    ``given`` are the learning rates that the groups had, ``rates`` those that it left in them (-1: a tensor, not read).
    ``epoch`` is its ``last_epoch`` then: 0, unless it was told to go on with a later one.
    """

    optimizer: int
    type: str
    factors: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()
    given: tuple[float, ...] = ()
    epoch: int = 0

    @property
    def api(self) -> str:
        """The class."""
        return self.type


class SchedulerStepped(_Step, frozen=True):
    """``step()`` of a scheduler of that optimizer, but for the one that its constructor makes.

    ``rates`` are the learning rates that it left in the groups (-1: a tensor, not read), ``epoch`` its ``last_epoch``.
    """

    rates: tuple[float, ...] = ()
    epoch: int = 0


class SchedulerSaved(ProgramEvent, frozen=True):
    """``state_dict()`` of a scheduler of that optimizer."""

    optimizer: int
    type: str

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.state_dict()"


class SchedulerLoaded(_Load, frozen=True):
    """``load_state_dict`` of a scheduler of that optimizer."""


class OptionSet(ProgramEvent, frozen=True):
    """The source sets an option of an optimizer that it steps; read off the text."""

    optimizer: int
    type: str
    option: str

    @property
    def api(self) -> str:
        """The option."""
        return self.option


class OptionStray(ProgramEvent, frozen=True):
    """A number was written to ``owner`` ("defaults", "": the optimizer itself) that no group of the optimizer has.

    ``site``: the line, as far as the source shows it.
    """

    optimizer: int
    type: str
    owner: str
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

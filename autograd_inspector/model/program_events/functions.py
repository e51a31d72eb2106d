"""What is known of functions that torch is given to run, transform or differentiate."""

from __future__ import annotations

from autograd_inspector.model.program_events.event import ProgramEvent


class OnceDifferentiable(ProgramEvent, frozen=True):
    """A Function was applied whose backward is marked as not differentiable; ``site`` is the mark."""

    function: str

    @property
    def api(self) -> str:
        """The method."""
        return f"{self.function}.backward"


class FunctionRefused(ProgramEvent, frozen=True):
    """A transform of torch.func refused a Function, for its ``forward`` takes the ``ctx``; ``site`` is that method."""

    function: str

    @property
    def api(self) -> str:
        """The method."""
        return f"{self.function}.forward"


class RandomUnderVmap(ProgramEvent, frozen=True):
    """A function that vmap had made called a random op, and was not given ``randomness``; ``site`` made it."""

    @property
    def api(self) -> str:
        """The transform."""
        return "torch.vmap"


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


class GradientsReturned(ProgramEvent, frozen=True):
    """The backward of a custom Function returned gradients of which some have one shape: noted once a Function.

    It ran from op ``at`` until op ``until``, for the call of op ``applied``. ``tensors``: what it was given;
    ``returned``: the gradients for the inputs that need one, which stand at these ``places`` of all that it returned.
    """

    function: str
    applied: int
    until: int
    tensors: tuple[int, ...]
    returned: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def api(self) -> str:
        """The method."""
        return f"{self.function}.backward"


class OtherCallRead(ProgramEvent, frozen=True):
    """The backward of one call of a custom Function read what another one was given, or made: noted once a Function.

    It ran from op ``at`` until op ``until``, for the call of op ``applied``; ``tensors``: what it read, of the call
    of op ``kept_by``; ``returned``: the gradients.
    """

    function: str
    applied: int
    kept_by: int
    until: int
    tensors: tuple[int, ...]
    returned: tuple[int, ...]

    @property
    def api(self) -> str:
        """The method."""
        return f"{self.function}.backward"


class SavedTensorUnpacked(ProgramEvent, frozen=True):
    """A backward failed in whose graph a saved-tensor hook of the program's own holds tensors; ``site``: its return.

    ``function``: the unpack hook.
    """

    function: str

    @property
    def api(self) -> str:
        """The hook."""
        return f"{self.function}()"


class RandomStateSet(ProgramEvent, frozen=True):
    """A function of that name set the state of torch's generators; ``seed``: to that of a seed, -1: to another one.

    ``digest`` tells states apart, where they are compared with those of other ranks.
    """

    name: str
    seed: int = -1
    digest: int | None = None

    @property
    def api(self) -> str:
        """The function."""
        return f"torch.{self.name}()"


class RoundLeft(ProgramEvent, frozen=True):
    """The statement at ``site`` stands between a step and the backward() at site ``made``, which no step followed."""

    made: int

    @property
    def api(self) -> str:
        """What it does."""
        return "leaving a round"


class RandomStateDropped(ProgramEvent, frozen=True):
    """A line calls ``checkpoint(..., preserve_rng_state=False)``: noted once."""

    @property
    def api(self) -> str:
        """The call."""
        return "checkpoint(preserve_rng_state=False)"


class ContextsGiven(ProgramEvent, frozen=True):
    """A line calls ``checkpoint(..., context_fn=...)``: noted once for each such function; ``site`` defines it."""

    @property
    def api(self) -> str:
        """The argument."""
        return "context_fn"


class StartRefused(ProgramEvent, frozen=True):
    """backward() or grad() did not start: what it was given, or not given, as a gradient does not fit these tensors."""

    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The function."""
        return "torch.autograd.backward()"


class HookEnds(ProgramEvent, frozen=True):
    """A hook of that name differentiated while backward called it, and returns nothing; ``site`` is its last line."""

    name: str

    @property
    def api(self) -> str:
        """The function."""
        return self.name


class LossDivided(ProgramEvent, frozen=True):
    """A tensor was divided by a ``number`` above 1: by a library's function ``by``, to call backward() on the result.

    ``by`` "": the program divided one of its own by the same number; ``written``: which is a constant in the code.
    """

    tensors: tuple[int, ...]
    number: float
    by: str = ""
    written: bool = False

    @property
    def api(self) -> str:
        """Who divided."""
        return self.by


class ArgumentUnread(ProgramEvent, frozen=True):
    """A function of the program's made a loss that a library differentiated, and never reads this ``argument``."""

    function: str
    argument: str

    @property
    def api(self) -> str:
        """The function."""
        return self.function


class DifferentiatedWithin(ProgramEvent, frozen=True):
    """The engine ran in a call in which nothing is recorded, as the step of an optimizer is."""

    @property
    def api(self) -> str:
        """What ran."""
        return "torch.autograd"


class GraphFlagSet(ProgramEvent, frozen=True):
    """A statement gives a variable the value that backward() was called with as ``create_graph``, in that ``run``."""

    variable: str
    run: int

    @property
    def api(self) -> str:
        """The variable."""
        return self.variable


class HookRefused(ProgramEvent, frozen=True):
    """A backward failed with what a hook of that name returned; ``site`` is the statement that returned it.

    Where that is not known, it is where backward was called. ``method`` registers such hooks. ``tensors`` have the
    hook; of a module's, ``type`` is the class of that. ``given`` and ``returned``: the shapes of the gradient and of
    what the hook returned, or what else torch says of these; "" unknown.
    """

    name: str
    method: str
    tensors: tuple[int, ...] = ()
    type: str = ""
    given: str = ""
    returned: str = ""
    run: int = -1

    @property
    def api(self) -> str:
        """The hook."""
        return f"{self.name}()"


class FunctionDifferentiated(ProgramEvent, frozen=True):
    """torch.func.grad, or vjp, differentiates by these tensors, as they are outside it; op ``at`` does."""

    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The transform."""
        return "torch.func.grad()"


class IndependentResult(ProgramEvent, frozen=True):
    """torch.func.grad, or vjp, of a function whose result depends on none of the tensors that it is differentiated by.

    The gradients are zeros. ``returned``: the result.
    """

    tensors: tuple[int, ...]
    returned: tuple[int, ...]

    @property
    def api(self) -> str:
        """The transform."""
        return "torch.func.grad"


class StatementIdle(ProgramEvent, frozen=True):
    """A statement names ``opt.zero_grad`` and does not call it, or makes a ``torch.no_grad()`` and does not enter it.

    Read off the program's functions. ``called``: it is a call, of a context that nothing enters.
    """

    name: str
    called: bool

    @property
    def api(self) -> str:
        """The name."""
        return f"{self.name}()" if self.called else self.name


class DefaultDtypeMet(ProgramEvent, frozen=True):
    """A function got no dtype and created a tensor of the default one, which the call at ``made`` had changed."""

    made: int
    name: str
    before: str
    after: str

    @property
    def api(self) -> str:
        """The call that changed it."""
        return f"torch.{self.name}()"


class ReceiverBound(ProgramEvent, frozen=True):
    """A statement binds the variable whose method, at site ``made``, entered inference mode; read off the text."""

    made: int

    @property
    def api(self) -> str:
        """What it is."""
        return "assignment"


class NamedAgain(ProgramEvent, frozen=True):
    """A statement gives what the variable ``of`` stands for another name: ``returns = advantages``, ``m = v = f(x)``.

    Read off the program's functions. ``alone``: it assigns that name only. ``chosen``: the name may be given to
    something else, as in ``old = new if first else before``.
    """

    name: str
    of: str
    alone: bool
    chosen: bool = False

    @property
    def api(self) -> str:
        """The new name."""
        return self.name

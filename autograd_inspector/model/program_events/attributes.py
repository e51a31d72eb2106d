"""What the program did to attributes and modes of modules."""

from __future__ import annotations

from autograd_inspector.model.program_events.event import ProgramEvent


class PlainAttributeSet(ProgramEvent, frozen=True):
    """Something was set to False that looks as if it froze these parameters, and that torch does not read."""

    attribute: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The attribute."""
        return self.attribute


class NothingFrozen(ProgramEvent, frozen=True):
    """A loop over named parameters was run, and ``test``, which holds these ``words``, let it freeze none."""

    test: str
    words: tuple[str, ...]

    @property
    def api(self) -> str:
        """The attribute that was to be set."""
        return "requires_grad"


class BareTensorHeld(ProgramEvent, frozen=True):
    """A module has a leaf that requires grad as a plain attribute: no ``nn.Parameter``, or one set past the module."""

    type: str
    attribute: str
    tensor: int

    @property
    def api(self) -> str:
        """The attribute."""
        return f"{self.type}.{self.attribute}"

    @property
    def tensors(self) -> tuple[int, ...]:
        """The leaf."""
        return (self.tensor,)


class PlainTensorHeld(ProgramEvent, frozen=True):
    """A module, which stands at ``path`` of a model, has a tensor that does not learn as a plain attribute: no buffer.

    ``site`` is the line that made it, as far as the source shows it.
    """

    type: str
    name: str
    tensor: int
    model: int
    path: str

    @property
    def api(self) -> str:
        """The attribute."""
        return f"{self.type}.{self.name}"

    @property
    def tensors(self) -> tuple[int, ...]:
        """The tensor."""
        return (self.tensor,)


class RequiresGradKept(ProgramEvent, frozen=True):
    """A statement of the program sets ``requires_grad`` of a tensor to False, which it was: noted once for several."""

    @property
    def api(self) -> str:
        """The attribute."""
        return "requires_grad"


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


class LayersHeld(ProgramEvent, frozen=True):
    """A module of class ``type`` has layers or Parameters in a plain list, tuple or dictionary, its attribute ``name``.

    ``site``: where the container is made, as far as the source shows it.
    """

    type: str
    name: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The attribute."""
        return f"{self.type}.{self.name}"


class TensorHeld(ProgramEvent, frozen=True):
    """The program held a result with its graph when torch refused to go through that, to copy or to send it.

    Or it put together a container whose entries are that one tensor: ``name`` is the container then.

    ``owner`` is the class whose attribute ``name`` led to it; "": ``name`` is a variable, with a container in it.
    ``path`` is how the running functions would write it, ``site`` the line that stored it, as far as the source shows.
    """

    tensor: int
    owner: str
    name: str
    path: str

    @property
    def api(self) -> str:
        """The attribute, or the variable."""
        return f"{self.owner}.{self.name}" if self.owner else self.name

    @property
    def tensors(self) -> tuple[int, ...]:
        """The tensor."""
        return (self.tensor,)


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


class ModeNotPassedOn(ProgramEvent, frozen=True):
    """``eval()`` met a module whose ``train()`` sets its own mode alone, at ``site``: ``missed`` stays in train mode.

    ``path`` is the module's place in ``model``, ``missed`` are paths in it, ``mode`` is what its method calls the mode.
    With "" among ``missed`` the module stays in train mode itself: its method calls the base class's without the mode.
    """

    type: str
    model: int
    path: str
    missed: tuple[str, ...]
    mode: str = ""

    @property
    def api(self) -> str:
        """The method."""
        return f"{self.type}.train()"


class AttributeSwitched(ProgramEvent, frozen=True):
    """A plain attribute of a module of class ``type`` was not what it was when the module was called before.

    ``before``, ``after``: True, False or None, or else the class of the value. ``path`` is the module's place in a
    model. ``looks``: the call that met it computes without gradients; ``looked``: the last one before that did so had
    met the value ``before``. ``site``: the line that set it, as far as the source shows it.
    """

    type: str
    name: str
    before: str
    after: str
    model: int
    path: str = ""
    looks: bool = False
    looked: bool = False

    @property
    def api(self) -> str:
        """The attribute."""
        return f"{self.type}.{self.name}"

"""Things that happened to parameters, gradients and optimizers beside the ops."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct


class GradRead(Struct, frozen=True, omit_defaults=True):
    """The program read ``tensor.grad``. ``gradient`` is the tensor it got (-1: None).

    ``clips``: torch's clipping read it, and was given that limit (inf: it only measures; the largest
    float: not known). -1: others did.
    ``asks``: the program only asked whether it is None. ``digest``: of what clipping read, the fingerprint, where
    values are read and compared with those of other ranks.
    """

    at: int
    tensor: int
    gradient: int
    site: int
    leaf: bool
    retains_grad: bool = False
    clips: float = -1.0
    asks: bool = False
    digest: int | None = None


class GradWrite(Struct, frozen=True, omit_defaults=True):
    """The program assigned ``tensor.grad``. ``gradient`` is what it assigned (-1: None)."""

    at: int
    tensor: int
    gradient: int
    site: int


class Lines(Struct, frozen=True, gc=False):
    """Lines of a source file, both ends included."""

    filename: str
    first: int
    last: int


class GradientKept(Struct, frozen=True, omit_defaults=True):
    """The source keeps the ``.grad`` read at a site, by reference, as the variable or in the container ``name``.

    Read off the source text. ``growing``: the loop in which the container gets one gradient after the other. ``uses``:
    statements that read the variable; ``renamed``: those that read it under another name, which it is given later.
    """

    site: int
    name: str
    growing: tuple[Lines, ...] = ()
    uses: tuple[Lines, ...] = ()
    renamed: tuple[Lines, ...] = ()


class TensorHook(Struct, frozen=True, omit_defaults=True):
    """The program registered a hook on a tensor's gradient.

    ``post``: one that is given the tensor after its ``.grad`` was accumulated. ``older``: it was there before the
    capture began, and ``site`` is where the hook is defined. ``again``: so many times the tensor had the same hook
    already when it was registered. ``changed``: variables that it shares with the hook that the same place made before,
    and that had another value when that one was registered. ``run``: the last run of the engine that had ended by then.
    ``cycle``: what the hook holds keeps the tensor's own graph alive, which keeps the hook.
    """

    at: int
    tensor: int
    site: int
    name: str = ""
    post: bool = False
    older: bool = False
    again: int = 0
    changed: tuple[str, ...] = ()
    run: int = -1
    cycle: bool = False


class RequiresGradChanged(Struct, frozen=True, omit_defaults=True):
    """``requires_grad`` of a tensor was set; ``folded``: after the first optimizer step, in a step that is folded.

    ``extended_by``: the methods of subclasses that had called, of the same object, the base class's method that did it.
    """

    at: int
    tensor: int
    requires_grad: bool
    site: int
    folded: bool = False
    extended_by: tuple[str, ...] = ()


class ParameterStep(Struct, frozen=True, omit_defaults=True, gc=False):
    """What one optimizer step met and did to one parameter (versions: -1 where there is no tensor).

    As it was when the step began: ``group`` is the one that held it (-1 unknown), ``frozen``: it did not require grad,
    ``dataless``: it had state on meta, and was not there itself. ``begun``: it had no state, and had some afterwards.
    ``still``: its numbers of two bytes were the same afterwards, although its gradient was not zero; where values are
    read.
    """

    tensor: int
    gradient: int
    version_before: int
    version_after: int
    gradient_before: int
    gradient_after: int
    group: int = -1
    frozen: bool = False
    dataless: bool = False
    begun: bool = False
    still: bool = False


class Step(Struct, frozen=True, omit_defaults=True, dict=True):
    """One ``optimizer.step()``; ``op`` is the op record that stands for it.

    ``start`` is the op index when it began, ``rates`` are the groups' learning rates then (-1: a tensor, not read),
    ``closure``: it ran one. ``hooked``: hooks of the program ran within it, and may have written anything.
    """

    at: int
    optimizer: int
    op: int
    site: int
    parameters: tuple[ParameterStep, ...] = ()
    error: str = ""
    start: int = -1
    rates: tuple[float, ...] = ()
    closure: bool = False
    hooked: bool = False

    def rate(self, parameter: ParameterStep) -> float:
        """The learning rate that the parameter's group had; -1 not known."""
        return self.rates[parameter.group] if 0 <= parameter.group < len(self.rates) else -1.0

    @cached_property
    def held(self) -> frozenset[int]:
        """The parameters that it met."""
        return frozenset(p.tensor for p in self.parameters)

    @cached_property
    def counted(self) -> frozenset[int]:
        """The groups of which the step moved some version counter: in these it moves one wherever it writes."""
        return frozenset(p.group for p in self.parameters if p.version_after > p.version_before)

    @property
    def computed(self) -> bool:
        """Whether it ran a closure that computes something: Lightning hands an empty one to each manual step."""
        return self.closure and 0 <= self.start < self.at

    @property
    def updates_from(self) -> int:
        """The op index behind which it uses the gradients: those that its closure has computed, where it ran one."""
        return self.at if self.computed else max(self.start, 0)


class ParameterReplacement(Struct, frozen=True, omit_defaults=True):
    """A model no longer has the parameters that it had at the last look.

    ``api`` and ``site``: the last call that may have done it. ``replaced``: (name, old id, new id); ``gone``,
    ``added``: (name, id); ``altered``: (name, id, what it was, what it is) of a parameter that stayed the same object.
    """

    at: int
    model: int
    api: str
    site: int
    replaced: tuple[tuple[str, int, int], ...] = ()
    gone: tuple[tuple[str, int], ...] = ()
    added: tuple[tuple[str, int], ...] = ()
    altered: tuple[tuple[str, int, str, str], ...] = ()


class AliasWrite(Struct, frozen=True, omit_defaults=True):
    """The source writes through a NumPy array that shares a tensor's memory; ``op`` made the array.

    Read off the source text, for NumPy's own writes run outside torch. ``how`` is the writing expression.
    """

    op: int
    site: int
    how: str


class ScalarReentry(Struct, frozen=True, gc=False):
    """A number that op ``export`` took out of torch came back as an argument of op ``op``."""

    op: int
    export: int


class NoneGradient(Struct, frozen=True, gc=False):
    """The backward of the custom Function with that sequence number returned None for inputs that need a gradient.

    ``missing`` counts those inputs alone: it points into the node's edges. ``places`` counts all that it returned.
    Runs through the node that found the same have one between them.
    """

    seq: int
    missing: tuple[int, ...]
    places: tuple[int, ...] = ()


class RetainedGraph(Struct, frozen=True, omit_defaults=True):
    """A result, with its graph, of those that one statement made in several rounds and that were alive at once.

    ``met``: the op index where a later round first met it; ``site`` puts it away (-1 unknown), or
    only returns it (``returned``) to whoever does.
    """

    tensor: int
    met: int
    site: int = -1
    returned: bool = False

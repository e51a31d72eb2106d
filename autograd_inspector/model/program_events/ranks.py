"""What the program did together with other ranks."""

from __future__ import annotations

from autograd_inspector.model.program_events.event import ProgramEvent


class _OfWrapper(ProgramEvent, frozen=True):
    """``type`` is the wrapper's class, ``wrapper`` its number in the capture."""

    type: str
    wrapper: int

    @property
    def api(self) -> str:
        """The class."""
        return self.type


class ReplicasWrapped(_OfWrapper, frozen=True):
    """A wrapper that reduces gradients over ``world`` ranks, with the parameters that it reduces, in its own order.

    ``site`` -1: it was made before the capture began. ``searches``: it looks for what a loss does not use.
    ``ignored``: the program has told it to leave these alone. ``static``: it was told that each step uses what the
    first does. ``apart``: it was told not to make the weights those of one rank.
    """

    tensors: tuple[int, ...]
    world: int
    searches: bool = False
    ignored: tuple[int, ...] = ()
    static: bool = False
    apart: bool = False


class WrappedAlone(ProgramEvent, frozen=True):
    """A wrapper got a process group of one rank, while there are more: it reduces nothing of ``tensors``."""

    type: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The class."""
        return self.type


class ReductionUnfinished(ProgramEvent, frozen=True):
    """A wrapper of one rank refused a forward: since this call of it not all of ``tensors`` had got a gradient.

    It was made at ``made``.
    """

    type: str
    tensors: tuple[int, ...]
    made: int = -1

    @property
    def api(self) -> str:
        """The class."""
        return self.type


class WrapperCalled(_OfWrapper, frozen=True):
    """Its forward was called while gradient was recorded (``learns``), or exchanges buffers.

    ``synced``: the next backward is to reduce. ``nth``: of the calls that exchange something, for that wrapper, from 1.
    ``joins``: in a block in which ranks may do less than others. ``tensors`` are the buffers that it first makes those
    of rank 0, on all other ranks.
    """

    synced: bool
    nth: int = 0
    joins: bool = False
    learns: bool = True
    tensors: tuple[int, ...] = ()


class SyncSwitchedOff(_OfWrapper, frozen=True):
    """Its ``no_sync()`` was called."""

    @property
    def api(self) -> str:
        """The call."""
        return f"{self.type}.no_sync()"


class ReductionHooked(_OfWrapper, frozen=True):
    """A wrapper got a hook that reduces its buckets in its place; ``site`` -1: before the capture began."""


class ReductionContinued(ProgramEvent, frozen=True):
    """What a hook reduces went on in a callback that made these torch calls, or by a method of a process group."""

    ops: tuple[str, ...]

    @property
    def api(self) -> str:
        """The method."""
        return "Future.then()"


class ModelSharded(ProgramEvent, frozen=True):
    """``fully_shard`` was called for a module, or met one whose parameters it has sharded over ``world`` ranks.

    ``tensors`` are its shards, ``ignored`` the other parameters of the module, which nothing reduces. ``site`` -1: that
    was before the capture began. ``flat``: a FullyShardedDataParallel was made, whose shards are those of one flat
    parameter, the first, under no name of the module; the others are views of it on the ranks that hold them.
    ``pairs``: each shard with the parameter in whose place it came, where that is known.
    """

    type: str
    tensors: tuple[int, ...]
    ignored: tuple[int, ...]
    world: int
    flat: bool = False
    pairs: tuple[tuple[int, int], ...] = ()

    @property
    def api(self) -> str:
        """The function, or the class."""
        return self.type


class ShardSyncSet(ProgramEvent, frozen=True):
    """A sharded module was told whether backwards are to reduce: ``set_requires_gradient_sync(on)``.

    ``flat``: it is a FullyShardedDataParallel, whose forward began in its ``no_sync()``, or for the first time behind.
    ``replicas``: only between replicas of the shards, by ``set_requires_all_reduce(on)``.
    """

    type: str
    on: bool
    flat: bool = False
    replicas: bool = False

    @property
    def api(self) -> str:
        """The method."""
        return f"{self.type}.no_sync()" if self.flat else f"{self.type}.{self.method}({self.on})"

    @property
    def method(self) -> str:
        """What sets it, of a sharded module."""
        return "set_requires_all_reduce" if self.replicas else "set_requires_gradient_sync"


class WrapperReturned(_OfWrapper, frozen=True):
    """A call of a wrapper that learns came to its end, behind which its reducer is prepared."""


class SummandTaken(ProgramEvent, frozen=True):
    """``to_local()`` of a DTensor that stands for the sum of what its ranks have; the op that does it comes next."""

    @property
    def api(self) -> str:
        """The method."""
        return "DTensor.to_local()"


class SumLost(ProgramEvent, frozen=True):
    """Ranks summed copies of these parameters by a call of that name, and nothing read the sums, which are gone."""

    name: str
    tensors: tuple[int, ...]

    @property
    def api(self) -> str:
        """The function."""
        return self.name


class GradientsLeftLocal(_OfWrapper, frozen=True):
    """A backward accumulated the gradients of these parameters of its, and nothing was reduced behind that.

    By the version counters: to reduce a gradient writes to it once more than to accumulate it does. ``gone``: the
    wrapper was no longer there.
    """

    run: int
    tensors: tuple[int, ...]
    gone: bool = False


class Communicated(ProgramEvent, frozen=True):
    """A call that exchanges tensors with other ranks; ``at`` is the op that it is, where it got tensors.

    ``op`` is what it reduces by ("sum"), "" where it does not. ``world``: how many ranks take part. ``nth``: of the
    calls of the whole capture, ``times``: of those at its site, from 1. ``inside``: a Function of the program's made
    it, in its forward or its backward, or a hook. ``failed``: it raised. ``begun``: it returned
    before it was done. ``results``: a functional one returned these and wrote to nothing. ``peer``: the rank that it
    sends to or receives from, -1 where there is no single one. ``tagged``: it was given a tag that tells messages
    apart. ``digest``: the fingerprint of what a Function reduces, where values are read.
    """

    name: str
    op: str
    world: int
    nth: int
    times: int
    tensors: tuple[int, ...] = ()
    inside: bool = False
    failed: bool = False
    begun: bool = False
    results: tuple[int, ...] = ()
    peer: int = -1
    tagged: bool = False
    digest: int | None = None

    @property
    def api(self) -> str:
        """The function."""
        return self.name


class Awaited(ProgramEvent, frozen=True):
    """The program waited for a call that it had only begun, the ``nth`` of the capture, or asked whether it is done."""

    name: str
    nth: int

    @property
    def api(self) -> str:
        """The method."""
        return f"{self.name}(async_op=True).wait()"


class StoodStill(ProgramEvent, frozen=True):
    """This was written while the program had been at that line for so many seconds, in that function of torch's.

    ``waits``: in a call that other ranks take part in. There is no more of such a capture than what ranks do together.
    """

    function: str
    waits: bool
    seconds: int

    @property
    def api(self) -> str:
        """The function."""
        return self.function or "the program"


class SamplerIterated(ProgramEvent, frozen=True):
    """A ``DistributedSampler`` began to give the indices of an epoch: those of part ``shard`` of ``parts``.

    ``made``: where the sampler was made. ``again``: it had given those of that very epoch before. ``epoch`` -1: it
    deals out what another sampler orders. ``order``: what it shuffles by, its seed and its epoch together.
    ``subset`` tells apart which part of a data set that is, -1 where it is all of one, or not the first epoch;
    ``split``: where ``random_split`` made that part.
    """

    sampler: int
    epoch: int
    shuffle: bool
    shard: int
    parts: int
    made: int = -1
    again: int = 0
    type: str = "DistributedSampler"
    order: int = -1
    subset: int = -1
    split: int = -1

    @property
    def api(self) -> str:
        """The class."""
        return self.type


class SamplerUnused(ProgramEvent, frozen=True):
    """A ``DataLoader`` began to read the dataset of a ``DistributedSampler`` that had given no index, without it.

    ``made``: where the sampler was made. ``parts``: into how many it divides the data.
    """

    made: int
    parts: int

    @property
    def api(self) -> str:
        """The class."""
        return "DataLoader"


class DataMet(ProgramEvent, frozen=True):
    """A model was called to learn, with tensors of that fingerprint; where values are read."""

    type: str
    digest: int

    @property
    def api(self) -> str:
        """The class of the model."""
        return self.type


class WeightsMet(ProgramEvent, frozen=True):
    """The fingerprints of what ranks may have in common: at a call of a model that learns, or around a step.

    ``what``: "weights" and "buffers" at such a call, "gradients" before a step, "stepped": the weights behind it,
    "declared": a tensor of which the program said that it is the same on all ranks, "came back": the gradient of one
    that ``to_local()`` took out of such a tensor, "kept": the weights at the first
    call of a model without grad mode. ``parts``: of a tensor that is
    spread over ranks which part each is, and whose ("0,1: 0"), "" of any other. ``names`` are those of buffers.
    """

    type: str
    tensors: tuple[int, ...]
    digests: tuple[int, ...]
    what: str = "weights"
    parts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def api(self) -> str:
        """The class of the model."""
        return self.type


class LayerComputed(ProgramEvent, frozen=True):
    """The fingerprints of what the first call of a layer was given and returned; where values are read.

    ``path`` is its name in its model, ``tensors`` are its parameters.
    """

    type: str
    path: str
    tensors: tuple[int, ...]
    given: int
    result: int

    @property
    def api(self) -> str:
        """The class of the layer."""
        return self.type

"""Writes a capture op by op, as a recorder would have: versions, storages, sites, and the autograd graph."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import LEAF_SEQUENCE, Backward, GraphHead, Node
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.location import Location, Site
from autograd_inspector.model.op import Op, Region, Trait, Write
from autograd_inspector.model.placement import Placement
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.tensor import TensorRecord

NO_GRAD = 1
"""The region in which nothing is recorded."""
_CUTS = OpKind.DETACHES | OpKind.REWRAPS | OpKind.RETURNS_CONSTANT | OpKind.TAKES_SHAPE_ONLY
_REGIONS = (Region(0, "enabled"), Region(NO_GRAD, "no_grad", "torch.no_grad()"))


class Written:
    """A program. Each call stands on a line of its own, unless ``line`` says which."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.tensors: list[TensorRecord] = []
        self.sites: list[Site] = []
        self.nodes: list[Node] = []
        self.backwards: list[Backward] = []
        self.steps: list[Step] = []
        self.optimizers: list[OptimizerRecord] = []
        self.more: dict[str, Any] = {}
        """Other fields of the capture."""
        self._node_of: dict[int, int] = {}
        self._versions: dict[int, int] = {}

    def site(self, line: int | None = None, function: str = "train") -> int:
        """The number of the site at that line; without one, of a new one."""
        made = Site((Location("train.py", 1000 + len(self.sites) if line is None else line, function),))
        if made not in self.sites:
            self.sites.append(made)
        return self.sites.index(made)

    def tensor(
        self,
        name: str = "",
        *,
        kind: Any = "input",
        shape: tuple[int, ...] = (4,),
        grad: bool = False,
        dtype: str = "float32",
        of: int | None = None,
        birth: int = -1,
        leaf: bool = True,
    ) -> int:
        """The number of a new tensor; it has the memory of the tensor ``of``."""
        number, size = len(self.tensors), 4
        for length in shape:
            size *= length
        storage = number if of is None else self.tensors[of].storage
        names = (name,) if name else ()
        self.tensors.append(
            TensorRecord(
                number,
                kind,
                shape,
                dtype,
                "cpu",
                size,
                grad,
                leaf,
                storage,
                0,
                size,
                birth,
                names=names,
                counter=storage,
            )
        )
        return number

    def parameter(self, name: str = "w", *, grad: bool = True, shape: tuple[int, ...] = (4,)) -> int:
        """The number of a new parameter."""
        return self.tensor(name, kind="parameter", grad=grad, shape=shape)

    def call(
        self,
        name: str,
        *inputs: int,
        shape: tuple[int, ...] | None = None,
        dtype: str = "float32",
        line: int | None = None,
        function: str = "train",
        region: int = 0,
        traits: int = 0,
        grad: bool | None = None,
        recorded: bool = True,
    ) -> int:
        """The tensor that a call returned; a view has the memory of its first input."""
        asked = any(self.tensors[tensor].requires_grad for tensor in inputs)
        if grad is None:
            grad = asked and not region and not is_a(name, _CUTS) and dtype.startswith("float")
        if asked and not grad:
            traits |= Trait.CUT
        shape = self.tensors[inputs[0]].shape if shape is None and inputs else shape or ()
        of = inputs[0] if inputs and is_a(name, OpKind.VIEWS) else None
        kind = "activation"
        made = self.tensor(kind=kind, shape=shape, grad=grad, dtype=dtype, of=of, birth=len(self.ops), leaf=not grad)
        self._record(name, inputs, (made,), line, function, region, traits, recorded=recorded and grad)
        return made

    def write(
        self,
        name: str,
        target: int,
        *others: int,
        line: int | None = None,
        region: int = NO_GRAD,
        traits: int = 0,
    ) -> Op:
        """A call that modified its first input in place."""
        record = self.tensors[target]
        before = self._versions.get(record.storage, 0)
        self._versions[record.storage] = before + 1
        writes = (Write(target, record.storage, before, before + 1),)
        return self._record(
            name, (target, *others), (target,), line, "train", region, traits, recorded=not region, writes=writes,
            versions=(before, *(self._version(tensor) for tensor in others)),
        )  # fmt: skip

    def _version(self, tensor: int) -> int:
        return self._versions.get(self.tensors[tensor].storage, 0)

    def _record(
        self,
        name: str,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        line: int | None,
        function: str,
        region: int,
        traits: int,
        *,
        recorded: bool,
        writes: tuple[Write, ...] = (),
        versions: tuple[int, ...] | None = None,
    ) -> Op:
        index = len(self.ops)
        versions = tuple(self._version(tensor) for tensor in inputs) if versions is None else versions
        op = Op(
            index, name, inputs, versions, outputs, self.site(line, function), region=region, traits=int(traits),
            first_seq=index, last_seq=index + recorded, writes=writes,
        )  # fmt: skip
        self.ops.append(op)
        if recorded:
            edges = tuple((self._node(tensor), 0) for tensor in inputs if self.tensors[tensor].requires_grad)
            self.nodes.append(Node(len(self.nodes), f"{name.capitalize()}Backward0", index, edges, index, -1, index))
            self._node_of |= dict.fromkeys(outputs, len(self.nodes) - 1)
        return op

    def _node(self, tensor: int) -> int:
        if tensor not in self._node_of:
            self._node_of[tensor] = len(self.nodes)
            self.nodes.append(Node(len(self.nodes), "AccumulateGrad", LEAF_SEQUENCE, (), -1, tensor))
        return self._node_of[tensor]

    def backward(self, *roots: int, line: int | None = None, **fields: Any) -> Backward:
        """A run of the engine from some tensors, which reached every leaf of their graphs."""
        heads = tuple(self._node_of[root] for root in roots if root in self._node_of)
        seen, todo = set(heads), list(heads)
        while todo:
            fresh = {child for child, _ in self.nodes[todo.pop()].edges} - seen
            seen |= fresh
            todo += fresh
        reached = tuple(self.nodes[node].variable for node in sorted(seen) if self.nodes[node].variable >= 0)
        start = len(self.ops)
        given: dict[str, Any] = {"api": "backward", "reached": reached, "start": start} | fields
        start = given.pop("start")
        run = Backward(
            len(self.backwards), given.pop("api"), start, given.pop("end", start), self.site(line), roots,
            GraphHead(heads), **given,
        )  # fmt: skip
        self.backwards.append(run)
        return run

    def optimizer(self, *parameters: int) -> int:
        """The number of a new optimizer that holds them."""
        number = len(self.optimizers)
        self.optimizers.append(
            OptimizerRecord(number, "SGD", "torch.optim.sgd", parameters=(parameters,), site=self.site())
        )
        return number

    def step(self, optimizer: int, *, line: int | None = None, gradient: int = -1) -> Step:
        """A step, which met that gradient of all parameters that the optimizer holds."""
        return self.steps_with(optimizer, dict.fromkeys(self.optimizers[optimizer].held, gradient), line=line)

    def steps_with(self, optimizer: int, gradients: dict[int, int], *, line: int | None = None) -> Step:
        """A step, which wrote to all parameters that the optimizer holds; ``gradients``: those that it met."""
        held = self.optimizers[optimizer].held
        writes = []
        for tensor in held:
            storage = self.tensors[tensor].storage
            before = self._versions.get(storage, 0)
            self._versions[storage] = before + 1
            writes.append(Write(tensor, storage, before, before + 1))
        start = len(self.ops)
        op = self._record("step", held, (), line, "train", NO_GRAD, Trait.STEP, recorded=False, writes=tuple(writes))
        moved = tuple(ParameterStep(w.tensor, gradients.get(w.tensor, -1), w.before, w.after, -1, -1) for w in writes)
        step = Step(op.index, optimizer, op.index, op.site, moved, start=start)
        self.steps.append(step)
        record = self.optimizers[optimizer]
        self.optimizers[optimizer] = replace(record, steps=record.steps + 1)
        return step

    def inside(self, call: int) -> None:
        """All that was written so far ran in that call of a module."""
        self.ops = [replace(op, call=call) for op in self.ops]

    @property
    def capture(self) -> Capture:
        """All of it."""
        return Capture(
            tuple(self.ops),
            tuple(self.tensors),
            tuple(self.sites),
            regions=_REGIONS,
            backwards=tuple(self.backwards),
            nodes=tuple(self.nodes),
            steps=tuple(self.steps),
            placement=Placement(optimizers=tuple(self.optimizers)),
            **self.more,
        )

    @property
    def analysis(self) -> Analysis:
        """The questions to it."""
        return Analysis(self.capture)

"""What a tensor is called wherever a user reads of it: in findings, tables, pictures and fixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.tensor import TensorRecord

COMPILED = "_orig_mod"
"""The attribute in which a module that torch.compile returns has the one that it was given."""
_WRAPPED = (COMPILED, "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
"""Attributes in which torch's wrappers keep the module that they wrap; the program reaches through them unnamed."""


class DisplayNames:
    """A parameter by its model and its place there (``net.0.weight``), any other tensor by the program's variable.

    What has neither is called as another tensor of the same memory is; what an optimizer ``held``, by its place there.
    """

    def __init__(
        self,
        tensors: Sequence[TensorRecord],
        namespace: str,
        models: Sequence[str] = (),
        held: Mapping[int, str] | None = None,
    ) -> None:
        self._tensors = tensors
        self._prefix = f"{namespace}." if namespace else ""
        self._models = models
        self._held = held or {}
        self._of_memory: dict[int, str] = {}
        for record in tensors:
            if record.variable and record.storage >= 0:
                self._of_memory.setdefault(record.storage, record.variable)
        for record in tensors:
            if record.names and record.storage >= 0:
                self._of_memory[record.storage] = self.registered(record.names[0])

    def of(self, tensor: int) -> str:
        """The name of a tensor; "" for one that the program has no name for."""
        record = self._tensors[tensor]
        if record.names:
            return self.registered(record.names[0])
        return record.variable or self.of_memory(record.storage) or self._held.get(tensor, "")

    def in_table(self, tensor: int) -> str:
        """The name, or what the tensor looks like (``float32[3, 2]``) where there is no room for words."""
        record = self._tensors[tensor]
        return self.of(tensor) or f"{record.dtype}{list(record.shape)}"

    def every_name_of(self, tensor: int) -> tuple[str, ...]:
        """All names under which the modules have it: several when it is tied."""
        return tuple(self.registered(name) for name in self._tensors[tensor].names)

    def is_registered(self, name: str) -> bool:
        """Whether a module has a tensor by that name, which then need not be a variable: ``net.0.weight``."""
        return name in self._registered

    @cached_property
    def _registered(self) -> frozenset[str]:
        names = ((self.registered(name), record.variable) for record in self._tensors for name in record.names)
        return frozenset(name for name, variable in names if name != variable)

    def layer(self, call: ModuleCall) -> str:
        """``net.head`` for a call of that module; a model that the program has no name for by its class."""
        model = self._models[call.root] if call.root >= 0 else ""
        return ".".join(filter(None, (model, unwrapped(call.path)))) or call.type

    def within(self, call: ModuleCall, outer: ModuleCall | None) -> str:
        """What a module is called inside of another: ``head`` in ``net``; by its full name, ``net.head``, in none."""
        if outer is None:
            return self.layer(call)
        around = unwrapped(outer.path)
        path = unwrapped(call.path)
        return (path.removeprefix(f"{around}.") if around else path) or self.layer(call)

    def of_memory(self, storage: int) -> str:
        """The name of some tensor with that memory: a parameter's first, then a variable's."""
        return self._of_memory.get(storage, "")

    def registered(self, name: str) -> str:
        """``net.0.weight`` for the name that a state_dict of ``net`` has."""
        return self._prefix + unwrapped(name)


def unwrapped(path: str) -> str:
    """A path in a model as the program walks it: ``encoder.0`` for ``encoder._checkpoint_wrapped_module.0``."""
    if "_wrapped_module" not in path and "_orig_mod" not in path:
        return path
    return ".".join(part for part in path.split(".") if part not in _WRAPPED)

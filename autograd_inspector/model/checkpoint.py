"""What a checkpoint holds, and what the model and the optimizer that it is meant for expect."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SlotKind = Literal["parameter", "buffer", "extra"]
"""``extra``: what a module's ``get_extra_state`` returns, under the name ``..._extra_state``."""

FileFormat = Literal[
    "torch.save", "torch.save (legacy)", "safetensors", "sharded safetensors", "sharded torch.save", "dict"
]


class CheckpointError(ValueError):
    """A file that is not a checkpoint, or cannot be read safely; the message is one line that says what to do."""


class CheckpointTensor(Struct, frozen=True, omit_defaults=True, gc=False):
    """A tensor of a checkpoint; ``device`` is where it was when it was saved, ``nbytes`` its own elements' bytes."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int


class SavedModel(Struct, frozen=True, omit_defaults=True):
    """A model's state_dict. ``path`` are the keys that lead to it, () when it is the whole checkpoint.

    ``extra`` are names whose value is no tensor; ``versioned``: it has the version numbers that torch keeps with it.
    """

    path: tuple[str | int, ...]
    tensors: tuple[CheckpointTensor, ...]
    extra: tuple[str, ...] = ()
    versioned: bool = False


class SavedParameter(Struct, frozen=True, omit_defaults=True):
    """The state at one position of an optimizer's state_dict; ``name`` where the checkpoint tells it."""

    key: str | int
    name: str = ""
    state: tuple[CheckpointTensor, ...] = ()


class SavedGroup(Struct, frozen=True, omit_defaults=True):
    """A parameter group: its hyper-parameters as text, and its positions."""

    settings: dict[str, str]
    parameters: tuple[SavedParameter, ...]


class SavedOptimizer(Struct, frozen=True, omit_defaults=True):
    """An optimizer's state_dict, and the keys that lead to it."""

    path: tuple[str | int, ...]
    groups: tuple[SavedGroup, ...]

    @property
    def parameters(self) -> tuple[SavedParameter, ...]:
        """All positions, in the order in which load_state_dict matches them."""
        return tuple(parameter for group in self.groups for parameter in group.parameters)

    @property
    def nbytes(self) -> int:
        """Bytes of all state."""
        return sum(entry.nbytes for parameter in self.parameters for entry in parameter.state)


class Slot(Struct, frozen=True, omit_defaults=True, gc=False):
    """One name that the model's state_dict has; tied names share ``owner`` (-1: no tensor).

    ``hooked``: a module around it loads in its own way, so that the checkpoint may have another name for it.
    ``lazy``: it has no shape before the first forward.
    """

    name: str
    kind: SlotKind
    shape: tuple[int, ...]
    dtype: str
    device: str
    owner: int = -1
    hooked: bool = False
    lazy: bool = False


class Target(Struct, frozen=True, omit_defaults=True):
    """What the checkpoint is to be loaded into.

    ``slots``: the names of the model's state_dict, () without a model. ``names``: what the optimizer's own groups call
    their parameters; ``defaults``: the settings that its step reads from each group.
    ``own_loading``: its class overrides ``load_state_dict``.
    """

    has_model: bool = False
    has_optimizer: bool = False
    slots: tuple[Slot, ...] = ()
    names: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    own_loading: bool = False


class Checkpoint(Struct, frozen=True, omit_defaults=True, dict=True):
    """A checkpoint, read without its data. ``source`` is its path, "" for a dict that was given.

    ``models`` and ``optimizers`` have the likeliest first; ``others`` are keys beside them. ``absent`` are devices that
    it was saved from and that this machine has not. ``nbytes`` is the size of its files in bytes, 0 for a dict.
    """

    source: str
    format: FileFormat
    nbytes: int = 0
    models: tuple[SavedModel, ...] = ()
    optimizers: tuple[SavedOptimizer, ...] = ()
    others: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    target: Target = Target()

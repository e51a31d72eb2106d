"""A checkpoint beside the model and the optimizer that it is meant for: what goes where."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.checkpoint import Checkpoint, CheckpointTensor, SavedModel, SavedOptimizer, Slot
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow
from autograd_inspector.model.renaming import Renaming, renaming_of


class ModelFit(Struct, frozen=True):
    """What of a saved state_dict goes where in the model.

    ``missing``: names of the model that the checkpoint lacks; ``tied``: those among them whose parameter has another
    name that it does not lack. ``unexpected``: names that only the checkpoint has.
    """

    saved: SavedModel
    renaming: Renaming
    matched: tuple[tuple[CheckpointTensor, Slot], ...]
    missing: tuple[Slot, ...]
    tied: tuple[Slot, ...]
    unexpected: tuple[str, ...]

    @property
    def reshaped(self) -> tuple[tuple[CheckpointTensor, Slot], ...]:
        """Pairs whose shapes differ."""
        return tuple((saved, slot) for saved, slot in self.matched if not _fits(saved, slot))


class Resume:
    """The facts that the rules and views on checkpoints share, each computed when asked for."""

    def __init__(self, capture: Capture, checkpoint: Checkpoint) -> None:
        self.capture = capture
        self.checkpoint = checkpoint
        self.target = checkpoint.target

    @cached_property
    def fit(self) -> ModelFit | None:
        """How the likeliest of the saved models fits the model; None without either."""
        if not self.target.has_model or not self.checkpoint.models:
            return None
        fits = [fit_of(saved, self.target.slots) for saved in self.checkpoint.models]
        return max(fits, key=lambda fit: (len(fit.matched) - len(fit.reshaped), not fit.renaming))

    @cached_property
    def optimizer(self) -> OptimizerRecord | None:
        """The optimizer given."""
        optimizers = self.capture.placement.optimizers
        return optimizers[0] if optimizers and self.target.has_optimizer else None

    @cached_property
    def rows(self) -> tuple[ParameterRow, ...]:
        """The optimizer's parameters, in the order in which load_state_dict counts them."""
        if self.optimizer is None:
            return ()
        return tuple(
            row for row in self.capture.placement.rows if row.optimizer == self.optimizer.id and row.group >= 0
        )

    @cached_property
    def sizes(self) -> list[int]:
        """How many parameters each group of the optimizer has."""
        return [] if self.optimizer is None else [len(group) for group in self.optimizer.parameters]

    @cached_property
    def saved(self) -> SavedOptimizer | None:
        """The saved optimizer that suits the given one best, else the first."""
        optimizers = self.checkpoint.optimizers
        if not optimizers or self.optimizer is None:
            return optimizers[0] if optimizers else None
        return max(optimizers, key=self._suits)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each position of the optimizer is called: by the model, else by its own groups."""
        group_names = self.target.names
        return tuple(
            row.names[0] if row.names else (group_names[i] if i < len(group_names) and group_names[i] else row.name)
            for i, row in enumerate(self.rows)
        )

    @property
    def same_groups(self) -> bool:
        """Whether load_state_dict accepts the groups: as many, of the same sizes."""
        return self.saved is not None and [len(g.parameters) for g in self.saved.groups] == self.sizes

    def _suits(self, saved: SavedOptimizer) -> tuple[bool, int]:
        sizes = [len(group.parameters) for group in saved.groups]
        alike = sum(
            any(entry.shape == row.shape for entry in parameter.state)
            for parameter, row in zip(saved.parameters, self.rows, strict=False)
        )
        return sizes == self.sizes, alike


def resume_of(capture: Capture) -> Resume | None:
    """The facts about the checkpoint of a capture; None when there is none."""
    return None if capture.checkpoint is None else Resume(capture, capture.checkpoint)


def fit_of(saved: SavedModel, slots: tuple[Slot, ...]) -> ModelFit:
    """Names and shapes of a state_dict beside those of a model."""
    tensors = {tensor.name: tensor for tensor in saved.tensors}
    wanted = {slot.name: slot for slot in slots}
    renaming = renaming_of(
        {name: tensor.shape for name, tensor in tensors.items()},
        {name: slot.shape for name, slot in wanted.items() if slot.kind != "extra"},
    )
    tensor_of_name = {renaming(name): tensor for name, tensor in tensors.items() if renaming.applies(name)}
    extra = {renaming(name) for name in saved.extra if renaming.applies(name)}
    missing = [
        slot
        for name, slot in wanted.items()
        if name not in tensor_of_name and name not in extra and not _counted(slot, saved)
    ]
    owners = {wanted[name].owner for name in tensor_of_name if name in wanted} - {-1}
    tied = tuple(slot for slot in missing if slot.owner in owners)
    model_names = set(wanted) | {""}
    return ModelFit(
        saved,
        renaming,
        tuple((tensor, wanted[name]) for name, tensor in tensor_of_name.items() if name in wanted),
        tuple(slot for slot in missing if slot.owner not in owners),
        tied,
        tuple(
            name for name in (*tensors, *saved.extra) if not renaming.applies(name) or renaming(name) not in model_names
        ),
    )


def _counted(slot: Slot, saved: SavedModel) -> bool:
    """Batch norm does without its counter where the state_dict has no version numbers."""
    return slot.name.endswith("num_batches_tracked") and not saved.versioned


def _fits(saved: CheckpointTensor, slot: Slot) -> bool:
    # load_state_dict takes a single element of shape [1] for a scalar, as torch 0.3 saved it.
    return slot.lazy or slot.kind == "extra" or saved.shape == slot.shape or (saved.shape == (1,) and slot.shape == ())

"""Tensors as facts: identity, layout, and who made them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

TensorKind = Literal["parameter", "buffer", "input", "activation"]


class TensorRecord(Struct, frozen=True, omit_defaults=True, gc=False):
    """One tensor object that took part in the capture.

    ``names`` are its fully qualified names (several when tied), ``birth`` is the index of the op that returned it
    (-1: it existed before, or came from code that no torch call shows). ``storage`` identifies the memory that views
    and aliases share (-1: none); ``offset`` and ``extent`` bound the bytes it covers there. ``first_use`` is the index
    of the first op that met it. ``counter`` names the version counter, which a ``.data`` alias has for itself.
    ``given``: it requires grad, and a model's call was given it as an argument. ``looked_at``: a call that returned no
    tensor, as ``torch.equal`` does, was given it; such calls are no ops.
    """

    id: int
    kind: TensorKind
    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int
    requires_grad: bool
    leaf: bool
    storage: int = -1
    offset: int = 0
    extent: int = 0
    birth: int = -1
    first_use: int = -1
    names: tuple[str, ...] = ()
    variable: str = ""
    inference: bool = False
    counter: int = -1
    given: bool = False
    looked_at: bool = False

    @property
    def of_model(self) -> bool:
        """Whether it is a parameter or a buffer."""
        return self.kind in {"parameter", "buffer"}

    def overlaps(self, other: TensorRecord) -> bool:
        """Whether both may read the same bytes of one storage."""
        return (
            self.storage == other.storage >= 0
            and self.offset < other.offset + other.extent
            and other.offset < self.offset + self.extent
        )

"""The vitals of several ranks together."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from autograd_inspector.model.vitals import Kind, MemoryVitals, Vitals


class RankedVitals(Struct, frozen=True, omit_defaults=True):
    """``whole``: of all ``ranks``, over the steps that each of them has kept; ``memory`` has an entry for each rank.

    In ``whole`` a sharded parameter is whole: norms are those of all its parts. Of replicas it has the largest figure
    of any rank; they are the same where gradients are averaged. What a module returned is that of all ranks' batches
    together; ``dead`` and ``never`` are the fewest of any rank, since a unit that one rank sees active is not dead.
    Least and largest are of the steps that are kept. The memory in ``whole`` is that of all ranks.
    """

    ranks: tuple[int, ...] = ()
    whole: Vitals = Vitals()
    memory: tuple[MemoryVitals, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.whole)

    def records(self, of: Kind = "parameters") -> list[dict[str, Any]]:
        """As ``Vitals.records``; of "memory" one dictionary a rank and step."""
        if of != "memory":
            return self.whole.records(of)
        alone = (Vitals(self.whole.steps, memory=memory) for memory in self.memory)
        return [
            {"rank": rank, **record}
            for rank, vitals in zip(self.ranks, alone, strict=True)
            for record in vitals.records("memory")
        ]

    def to_dataframe(self, of: Kind = "parameters") -> Any:
        """:meth:`records` as a pandas.DataFrame; raises ImportError in one line when pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_dataframe() needs pandas: pip install pandas (vitals.records() does not)") from None
        return pd.DataFrame.from_records(self.records(of))

    def peaks(self) -> dict[int, int]:
        """Rank -> the most bytes that were alive there in any of the steps; without ranks that measured none."""
        found = zip(self.ranks, self.memory, strict=True)
        return {rank: max(known) for rank, memory in found if (known := [b for b in memory.peak if b is not None])}

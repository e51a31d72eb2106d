"""What a program plays on several ranks, and how each rank tells of it."""

import hashlib
import json
import os
import sys
from pathlib import Path

import torch

from tests.integrations.bits import bits, grave


def play(train) -> None:
    """Plain, inspected, inspected on all ranks, with a cut encoder; at last rank 1 alone fails in step 3.

    ``train(folder, fault, **options)`` returns the model and the inspector; ``inspect=False`` trains without ours.
    """
    folder, rank = Path(sys.argv[1]), int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0")))
    outcomes = {}

    def scene(name, fault="", **options):
        model, inspector = train(folder / name, fault, **options)
        outcomes[name] = {"learnt": learnt(model), "found": found(inspector)}
        # Told after each: the last scene ends the process, on one rank by a signal.
        (folder / f"told-{rank}.json").write_text(json.dumps(outcomes))

    scene("plain", inspect=False)
    scene("healthy", every=2)
    scene("everyone", all_ranks=True)
    scene("detach", "detach", steps=1)
    train(folder / "spoil", "spoil" if rank == 1 else "")


def learnt(model: torch.nn.Module) -> str:
    """All bits of the weights and of the random stream, as one word."""
    whole = hashlib.sha256(torch.get_rng_state().numpy().tobytes())
    for name, value in sorted(bits(model).items()):
        whole.update(name.encode() + value)
    return whole.hexdigest()


def found(inspector) -> list | None:
    """The step of the last report, and its errors and warnings; None where there was no report."""
    return None if inspector.report is None else [inspector.step, grave(inspector.report)]

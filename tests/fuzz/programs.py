"""The strategy that draws programs."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from .program import Program
from .training import Trainer

LEAVES = {
    "w0": "torch.linspace(-0.9, 1.1, 9).reshape(3, 3).clone().requires_grad_()",
    "w1": "torch.linspace(0.8, -0.7, 9).reshape(3, 3).sin().requires_grad_()",
    "w2": "torch.linspace(-0.6, 0.9, 3).clone().requires_grad_()",
    "x0": "torch.linspace(-1.3, 1.2, 9).reshape(3, 3).cos()",
    "x1": "torch.linspace(0.4, 1.4, 3).clone()",
}
OPTIMIZERS = {
    "SGD": "torch.optim.SGD([w0, w1, w2], lr=0.5)",
    "fused SGD": "torch.optim.SGD([w0, w1, w2], lr=0.5, fused=True)",
    "fused AdamW": "torch.optim.AdamW([w0, w1, w2], lr=0.5, fused=True)",
}
KINDS = (
    *("out",) * 8,
    *("view",) * 5,
    *("alias",) * 2,
    *("in-place",) * 9,
    *("checkpoint",) * 2,
    "batch norm",
    *("loss",) * 3,
    *("backward",) * 2,
    *("step",) * 2,
)


def programs() -> st.SearchStrategy[Program]:
    """Random programs that end in a backward.

    Hypothesis draws the seed only: its own choices would come in clusters, and what makes a counterexample small here
    is leaving out steps (see reducing.py).
    """
    return st.randoms(use_true_random=True).map(program_of)


def program_of(random: Random, longest: int = 12) -> Program:
    """One program."""
    builder = Trainer(random)
    prelude = [f"{name} = {text}" for name, text in LEAVES.items()]
    for name in LEAVES:
        builder.leaf(name, (3,) if name in {"w2", "x1"} else (3, 3))
    prelude.append("mean, var = torch.zeros(3), torch.ones(3)")
    if builder.pick((True, False)):
        builder.optimizer = builder.pick(OPTIMIZERS)
        prelude.append(f"optimizer = {OPTIMIZERS[builder.optimizer]}")
        if builder.seldom(2):
            prelude += [f"{name}.grad = torch.ones_like({name})" for name in ("w0", "w1", "w2")]
    makers = {
        "out": builder.out,
        "view": builder.view,
        "alias": builder.alias,
        "in-place": builder.inplace,
        "checkpoint": builder.checkpoint,
        "batch norm": builder.batch_norm,
        "loss": builder.loss,
        "backward": builder.backward,
        "step": builder.step,
    }
    for _ in range(random.randint(2, longest)):
        makers[builder.pick(KINDS)]()
    builder.loss()
    for _ in range(builder.pick((0, 1, 1, 2))):
        makers[builder.pick(("in-place", "in-place", "in-place", "step", "step", "batch norm", "out"))]()
    builder.backward()
    if builder.losses and builder.seldom(2):
        makers[builder.pick(("in-place", "step"))]()
        builder.backward()
    return Program(tuple(prelude), tuple(builder.steps))

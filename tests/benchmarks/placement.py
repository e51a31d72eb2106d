"""What it costs to look at an optimizer, and what the step hooks add."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.optim import Optimizer
from transformers import MistralConfig, MistralForCausalLM

import autograd_inspector
from autograd_inspector import inspect_optimizer
from autograd_inspector.capture.observers.optimizers.steps import Steps

from .clock import interleaved, seconds, timed
from .display import Aim, Row, Section, microseconds, milliseconds, progress

LOOK_AIM = 0.05
"""Seconds for 1,000 parameters."""
STEP_AIM = 2e-6
"""Seconds a parameter."""
WIDTH = 1000


def measure(*, quick: bool) -> Section:
    """A billion parameters on meta in 1,000 matrices, Mistral-7B on meta, and steps of 1,000 small matrices."""
    rounds = 3 if quick else 7
    rows = []
    with torch.device("meta"):
        layers = nn.ModuleList([nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(WIDTH)])
        mistral = MistralForCausalLM(MistralConfig())
    for name, model in (("a billion parameters", layers), ("Mistral-7B", mistral)):
        progress(f"inspect_optimizer: {name}")
        rows.append(_look(name, model, rounds))
    progress("step hooks")
    rows.append(_step(rounds))
    return Section("Optimizer state", "reading shape, dtype, device and bytes", tuple(rows))


def _look(name: str, model: nn.Module, rounds: int) -> Row:
    optimizer = torch.optim.AdamW(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.empty_like(parameter)
        moments = {name: torch.empty_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
        optimizer.state[parameter] = {"step": torch.tensor(1.0), **moments}
    count = sum(1 for _ in model.parameters())
    works = {"bare": timed(lambda: _bare(optimizer)), "ours": timed(lambda: inspect_optimizer(optimizer, model))}
    timings = interleaved(works, rounds)
    bare, ours = timings["bare"], timings["ours"]
    each = ours.best / count * 1000
    aim = Aim(f"under {milliseconds(LOOK_AIM)} for 1,000 parameters", each < LOOK_AIM)
    figure = f"{milliseconds(ours.best)}, {milliseconds(each)} for 1,000"
    return Row(f"{name} ({count:,} tensors)", ours.times(bare), ours.typical(bare), figure, aim)


def _bare(optimizer: Optimizer) -> list[tuple[object, ...]]:
    """The least that a placement has to read."""
    facts: list[tuple[object, ...]] = []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            tensors = (parameter, parameter.grad, *optimizer.state[parameter].values())
            facts += [(t.shape, t.dtype, t.device, t.untyped_storage().nbytes()) for t in tensors]
    return facts


def _step(rounds: int) -> Row:
    """What our hooks take of a step, summed up inside the step itself."""
    network = nn.ModuleList([nn.Linear(4, 4, bias=False) for _ in range(WIDTH)])
    optimizer = torch.optim.AdamW(network.parameters(), foreach=True)
    for parameter in network.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()

    def hooked() -> float:
        with autograd_inspector.inspect(), _summed() as spent:
            optimizer.step()  # The first one reads the placement.
            spent.clear()
            optimizer.step()
            return sum(spent)

    timings = interleaved({"step": timed(optimizer.step), "hooks": hooked}, rounds)
    plain, hooks = timings["step"], timings["hooks"]
    each = hooks.best / WIDTH
    aim = Aim(f"under {microseconds(STEP_AIM)} a parameter", each < STEP_AIM)
    figure = f"{microseconds(each)} a parameter"
    return Row("step hooks (× a plain foreach step)", hooks.times(plain), hooks.typical(plain), figure, aim)


@contextmanager
def _summed() -> Iterator[list[float]]:
    """The seconds that the two halves of the hooks take."""
    spent: list[float] = []
    kept = Steps._begin, Steps._end

    def clocked(half: Callable[..., None]) -> Callable[..., None]:
        return lambda *args: spent.append(seconds(lambda: half(*args)))

    Steps._begin, Steps._end = clocked(kept[0]), clocked(kept[1])  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        Steps._begin, Steps._end = kept  # type: ignore[method-assign]

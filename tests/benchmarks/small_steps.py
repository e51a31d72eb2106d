"""Training steps of many calls and hardly any arithmetic, where what observing adds is the largest part it can be."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

import autograd_inspector
from tests.stories.mistral_model import adapted_mistral, adapters, language_loss, texts

from .clock import Work, interleaved, seconds, timed
from .display import Aim, Row, Section, milliseconds, progress
from .workloads import gpt2, training_step

Step = Callable[[], None]


def lstm_loop() -> Step:
    """A cell that is called 200 times, as recurrent models are written by hand."""
    cell, head = nn.LSTMCell(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
    x, y = torch.randn(200, 4, 8), torch.randn(200, 4, 1)

    def step() -> None:
        hidden, state = x.new_zeros(4, 16), x.new_zeros(4, 16)
        outputs = []
        for time in range(200):
            hidden, state = cell(x[time], (hidden, state))
            outputs.append(head(hidden))
        (torch.stack(outputs) - y).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def tiny_mlp() -> Step:
    """Three linear layers: a step of a few calls, beside which what a capture itself costs is seen."""
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(net.parameters())
    x, y = torch.randn(16, 8), torch.randn(16, 1)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()

    return step


def mistral_lora() -> Step:
    """Two layers of Mistral with LoRA adapters, which alone are trained."""
    model = adapted_mistral(2)
    optimizer = torch.optim.AdamW(adapters(model), lr=1e-4)
    ids = texts(2, 16)

    def step() -> None:
        language_loss(model(input_ids=ids).logits, ids).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


class Residual(nn.Module):
    """A bottleneck of ResNet-50, narrow."""

    def __init__(self, width: int) -> None:
        super().__init__()
        sizes = ((4 * width, width, 1), (width, width, 3), (width, 4 * width, 1))
        self.convolutions = nn.ModuleList(nn.Conv2d(a, b, k, padding=k // 2, bias=False) for a, b, k in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b, _ in sizes)

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for place, (convolution, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            y = norm(convolution(y))
            y = torch.relu(y) if place < 2 else torch.relu(y + x)
        return y


def residual_net() -> Step:
    """The 16 bottlenecks of a ResNet-50, on narrow channels: convolutions and norms that keep running statistics."""
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *(Residual(4) for _ in range(16)), nn.Flatten())
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    x = torch.randn(1, 3, 8, 8)

    def step() -> None:
        net(x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


STEPS: dict[str, tuple[Callable[[], Step], float | None]] = {
    "GPT-2 small, narrow": (lambda: training_step(gpt2(narrow=True)), 1.6),
    "Mistral-tiny, LoRA": (mistral_lora, 1.7),
    "LSTM cell, 200 steps": (lstm_loop, 1.6),
    "tiny MLP": (tiny_mlp, 1.7),
    "bottlenecks of ResNet-50, narrow": (residual_net, None),
}
"""Name -> what makes a step, and how many times a plain step one in a capture may take."""


def measure(*, quick: bool, device: str = "cpu") -> Section:
    """Each step inside a block of its own, and with the block's entry and report, against the plain step."""
    rounds = 3 if quick else 15
    rows = []
    for name, (made, most) in STEPS.items():
        progress(f"steps of {name}, {rounds} rounds")
        with torch.device(device):
            step = made()
        plain, inside, whole = "plain", "inside", "whole"
        timings = interleaved(_works(step, plain, inside, whole), rounds)
        floor = timings[plain]
        ratio = timings[inside].times(floor)
        aim = None if most is None else Aim(f"at most {most} times", ratio <= most)
        figure = f"{milliseconds(floor.best)}, {milliseconds(timings[inside].best - floor.best)} added"
        rows.append(Row(name, ratio, timings[inside].typical(floor), figure, aim))
        added = milliseconds(timings[whole].best - floor.best)
        rows.append(
            Row(f"{name}, entry and end", timings[whole].times(floor), timings[whole].typical(floor), f"{added} added")
        )
    return Section(f"Steps of many calls and hardly any arithmetic, on {device}", "plain step", tuple(rows))


def _works(step: Step, plain: str, inside: str, whole: str) -> dict[str, Work]:
    def block() -> float:
        with autograd_inspector.inspect():
            return seconds(step)

    def statement() -> None:
        with autograd_inspector.inspect():
            step()

    return {plain: timed(step), inside: block, whole: timed(statement)}

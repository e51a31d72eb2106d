"""Training programs that never wait for their device, by name: each returns what one more step computes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

Step = Callable[[], Tensor]


class Doubled(torch.autograd.Function):
    """A custom Function that saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * 2 + 0 * y


def network(device: torch.device) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Flatten(), nn.Dropout(0.1), nn.Linear(288, 4)
    ).to(device)


def batch(device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.randn(16, 1, 8, 8, device=device), torch.randint(0, 4, (16,), device=device)


def training(device: torch.device, make: Callable[..., torch.optim.Optimizer], **options: object) -> Step:
    """Forward, backward, clipping, step."""
    model, (x, y) = network(device), batch(device)
    optimizer = make(model.parameters(), lr=1e-3, **options)

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step


def autocast(device: torch.device) -> Step:
    """Half precision, without a scaler, which waits for the device by itself."""
    model, (x, y) = network(device), batch(device)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)

    def step() -> Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


def attention(device: torch.device, *, recompute: bool) -> Step:
    layers = nn.ModuleList(nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True) for _ in range(2)).to(
        device
    )
    x = torch.randn(4, 12, 32, device=device)
    optimizer = torch.optim.AdamW(layers.parameters(), foreach=True)

    def step() -> Tensor:
        h = x
        for layer in layers:
            h = checkpoint(layer, h, use_reentrant=False, preserve_rng_state=False) if recompute else layer(h)
        loss = Doubled.apply(h).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


def recurrent(device: torch.device) -> Step:
    """Truncated backpropagation through time."""
    cell, head = nn.LSTM(8, 16, batch_first=True).to(device), nn.Linear(16, 1, device=device)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1, momentum=0.9)
    carried: list[tuple[Tensor, Tensor]] = []

    def step() -> Tensor:
        x = torch.randn(4, 5, 8, device=device)
        state = tuple(part.detach() for part in carried.pop()) if carried else None
        out, state = cell(x, state)
        carried.append(state)
        loss = head(out).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


def by_hand(device: torch.device) -> Step:
    """Updates in place under `no_grad`, an average of the weights, gradients by `autograd.grad`, a second backward."""
    weight = torch.randn(8, 8, device=device, requires_grad=True)
    average = weight.detach().clone()
    x = torch.randn(4, 8, device=device)

    def step() -> Tensor:
        loss = torch.tanh(x @ weight).square().mean()
        (gradient,) = torch.autograd.grad(loss, weight, create_graph=True)
        (loss + 0.1 * gradient.square().sum()).backward()
        with torch.no_grad():
            weight.sub_(weight.grad, alpha=0.1)
            average.lerp_(weight, 0.1)
        weight.grad = None
        return loss.detach()

    return step


def beside(device: torch.device) -> Step:
    """The teacher runs in a stream of its own."""
    student, teacher = nn.Linear(16, 16, device=device), nn.Linear(16, 16, device=device).requires_grad_(False)
    x, stream = torch.randn(32, 16, device=device), torch.cuda.Stream()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)

    def step() -> Tensor:
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), torch.no_grad():
            target = teacher(x)
        out = student(x)
        torch.cuda.current_stream().wait_stream(stream)
        target.record_stream(torch.cuda.current_stream())
        loss = F.mse_loss(out, target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


PROGRAMS: dict[str, Callable[[torch.device], Step]] = {
    "AdamW": partial(training, make=torch.optim.AdamW),
    "AdamW, one by one": partial(training, make=torch.optim.AdamW, foreach=False),
    "fused AdamW": partial(training, make=torch.optim.AdamW, fused=True),
    "capturable AdamW": partial(training, make=torch.optim.AdamW, capturable=True),
    "fused SGD": partial(training, make=torch.optim.SGD, momentum=0.9, fused=True),
    "autocast": autocast,
    "attention": partial(attention, recompute=False),
    "checkpointed attention": partial(attention, recompute=True),
    "recurrent": recurrent,
    "by hand": by_hand,
    "two streams": beside,
}

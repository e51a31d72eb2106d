"""What a step can be: views, in-place forms and out-of-place ops, by the shapes that they fit."""

from __future__ import annotations

from functools import lru_cache

import torch

Shape = tuple[int, ...]
Layout = tuple[Shape, tuple[int, ...]]
"""Sizes and strides."""

VIEWS = (
    "[0]",
    "[1:]",
    "[:, 1]",
    "[:, :2]",
    ".t()",
    ".view(-1)",
    ".view(3, 3)",
    ".view(1, -1)",
    ".unsqueeze(0)",
    ".diagonal()",
    ".select(0, 1)",
    ".narrow(0, 1, 2)",
    ".expand(3, 3)",
    ".expand(2, 3)",
    ".chunk(3)[1]",
    ".unbind()[0]",
    ".split(2)[0]",
)
MULTIPLE = ("chunk", "unbind", "split")
"""Views that come in several from one op: autograd forbids to modify them in place."""

UNARY = (
    ".sigmoid()",
    ".tanh()",
    ".exp()",
    ".relu()",
    ".sin()",
    ".pow(2)",
    ".softmax(-1)",
    ".abs()",
    ".mul(0.5)",
    ".add(1.0)",
    ".neg()",
    ".clone()",
    ".clamp(-0.5, 0.5)",
    ".square().sum(-1, keepdim=True)",
)
BINARY = ("{0}.mul({1})", "{0} * {1}", "{0}.add({1})", "{0} - {1}", "{0}.div({1}.square() + 1.0)")
PRODUCT = "{0} @ {1}"

INPLACE_UNARY = (
    (".add_(0.25)", ".add(0.25)"),
    (".mul_(1.5)", ".mul(1.5)"),
    (".relu_()", ".relu()"),
    (".clamp_(-0.4, 0.4)", ".clamp(-0.4, 0.4)"),
    (".sigmoid_()", ".sigmoid()"),
    (".tanh_()", ".tanh()"),
    (".zero_()", ""),
    (".fill_(0.7)", ""),
)
INPLACE_BINARY = (
    (".add_({0})", ".add({0})"),
    (".mul_({0})", ".mul({0})"),
    (".sub_({0}, alpha=0.5)", ".sub({0}, alpha=0.5)"),
    (".copy_({0})", ""),
)
AUGMENTED = (("{0} += {1}", "{0} = {0} + {1}"), ("{0} *= {1}", "{0} = {0} * {1}"))


def contiguous(shape: Shape) -> Layout:
    """The layout of freshly allocated memory."""
    return shape, torch.empty(shape, device="meta").stride()


@lru_cache(maxsize=1024)
def views_of(layout: Layout) -> tuple[tuple[str, Layout], ...]:
    """The views that a tensor of that layout allows, and the layout of each."""
    tensor = torch.empty_strided(*layout, device="meta")
    views = []
    for text in VIEWS:
        try:
            view = eval(f"tensor{text}", {"tensor": tensor})
        except (RuntimeError, IndexError, ValueError):
            continue
        views.append((text, (tuple(view.shape), view.stride())))
    return tuple(views)


@lru_cache(maxsize=1024)
def broadcast(one: Shape, other: Shape) -> Shape | None:
    """The shape of a binary op's result, None where the two do not fit."""
    try:
        return tuple(torch.broadcast_shapes(one, other))
    except RuntimeError:
        return None


@lru_cache(maxsize=1024)
def result_shape(text: str, *shapes: Shape) -> Shape | None:
    """The shape of an op's result, None where its operands do not fit."""
    tensors = {f"t{i}": torch.empty(shape, device="meta") for i, shape in enumerate(shapes)}
    try:
        return tuple(eval(text.format(*tensors), tensors).shape)
    except (RuntimeError, IndexError, ValueError):
        return None


def overlapping(layout: Layout) -> bool:
    """Several elements share memory, as an expanded tensor's do: torch refuses to write there."""
    return any(size > 1 and stride == 0 for size, stride in zip(*layout, strict=True))

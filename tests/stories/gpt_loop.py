"""Story 1: a GPT trained by a hand-written loop, whose weights do not stay the tensors they were."""

from collections.abc import Callable

import torch
from torch import nn

from .gpt_model import GPT, VOCABULARY, WIDTH, Weights, gpt, make_weights, next_token_loss, sample_tokens
from .story import Story


def descend(weights: Weights, learning_rate: float = 0.1) -> None:
    """One step of gradient descent on leaves, in place."""
    with torch.no_grad():
        for weight in weights.values():
            weight.sub_(learning_rate * weight.grad)
            weight.grad = None


def train_plain(weights: Weights, steps: int = 2) -> float:
    """Train the plain GPT and return the last loss."""
    for _ in range(steps):
        tokens = sample_tokens()
        loss = next_token_loss(gpt(weights, tokens), tokens)
        loss.backward()
        descend(weights)
    return loss.item()


def train_converted_weights() -> float:
    """Initialise in single precision, train in double."""
    torch.manual_seed(1)
    weights = make_weights()
    for name in weights:
        weights[name] = weights[name].to(torch.float64)
    return train_plain(weights)


def train_converted_leaves() -> float:
    """Convert first, and only then ask for gradients."""
    torch.manual_seed(1)
    weights = make_weights()
    for name in weights:
        weights[name] = weights[name].detach().to(torch.float64).requires_grad_()
    return train_plain(weights)


def train_with_decay(shrink: Callable[[Weights], None]) -> float:
    """Train in epochs; between two epochs the output embedding is shrunk."""
    torch.manual_seed(2)
    weights = make_weights()
    for epoch in range(2):
        if epoch:
            shrink(weights)
        loss = train_plain(weights)
    return loss


def shrink_by_expression(weights: Weights) -> None:
    """Put the shrunk embedding in the place of the embedding."""
    weights["wte"] = weights["wte"] * 0.9


@torch.no_grad()
def shrink_in_place(weights: Weights) -> None:
    """Shrink the embedding where it is."""
    weights["wte"] *= 0.9


class Adam(torch.optim.Optimizer):
    """Adam that prepares its state when it is built and asks the model for its weights at every step."""

    def __init__(self, model: nn.Module, lr: float = 1e-2) -> None:
        super().__init__(model.parameters(), {"lr": lr, "betas": (0.9, 0.999)})
        self.model = model
        for weight in model.parameters():
            self.state[weight] = {"exp_avg": torch.zeros_like(weight), "exp_avg_sq": torch.zeros_like(weight)}

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        lr, (beta1, beta2) = self.param_groups[0]["lr"], self.param_groups[0]["betas"]
        for weight in self.model.parameters():
            state = self.state[weight]
            mean = state["exp_avg"].lerp_(weight.grad, 1 - beta1)
            square = state["exp_avg_sq"].lerp_(weight.grad**2, 1 - beta2)
            weight.addcdiv_(mean, square.sqrt() + 1e-8, value=-lr)


def train_module(model: GPT, optimizer: torch.optim.Optimizer, steps: int = 2) -> float:
    """Train the GPT module; return how far its head has moved."""
    before = model.head.weight.detach().clone()
    for _ in range(steps):
        tokens = sample_tokens()
        loss = next_token_loss(model(tokens), tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (model.head.weight.detach() - before).norm().item()


def renew_head_late(make_optimizer: Callable[[GPT], torch.optim.Optimizer]) -> float:
    """Build the optimizer, then give the model a fresh head."""
    torch.manual_seed(3)
    model = GPT()
    optimizer = make_optimizer(model)
    model.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
    return train_module(model, optimizer)


def renew_head_first(make_optimizer: Callable[[GPT], torch.optim.Optimizer]) -> float:
    """Give the model a fresh head, then build the optimizer."""
    torch.manual_seed(3)
    model = GPT()
    model.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
    return train_module(model, make_optimizer(model))


def adamw(model: GPT) -> torch.optim.Optimizer:
    """The optimizer most GPTs are trained with."""
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


NO_GRADIENT = "TypeError: unsupported operand type(s) for *: 'float' and 'NoneType'"
NEW_HEAD = ("model.head = nn.Linear(",)

STORIES = (
    Story(
        1,
        "weights-moved",
        "A GPT's weights are converted, and the gradient stays with the originals",
        broken=train_converted_weights,
        repaired=train_converted_leaves,
        raises=NO_GRADIENT,
        rules=("AG302",),
        culprits=("weights[name] = weights[name].to(torch.float64)",),
        names=("weights", "grad"),
    ),
    Story(
        1,
        "weight-rebound",
        "Between two epochs a weight becomes the result of an expression",
        broken=lambda: train_with_decay(shrink_by_expression),
        repaired=lambda: train_with_decay(shrink_in_place),
        raises=NO_GRADIENT,
        rules=("AG302",),
        culprits=('weights["wte"] = weights["wte"] * 0.9',),
        names=("wte", "grad"),
    ),
    Story(
        1,
        "optimizer-lookup",
        "The optimizer looks up a head that was replaced after it was built",
        broken=lambda: renew_head_late(Adam),
        repaired=lambda: renew_head_first(Adam),
        raises="KeyError: 'exp_avg'",
        rules=("AG405",),
        culprits=NEW_HEAD,
        names=("head",),
    ),
    Story(
        1,
        "head-replaced",
        "AdamW goes on training the head that the GPT had before",
        broken=lambda: renew_head_late(adamw),
        repaired=lambda: renew_head_first(adamw),
        raises=None,
        rules=("AG405",),
        culprits=NEW_HEAD,
        names=("head",),
    ),
)

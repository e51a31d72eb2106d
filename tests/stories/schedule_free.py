"""Story 5: a schedule-free optimizer that uses the gradients up, and a log that reads them too late."""

from collections.abc import Callable, Iterable

import schedulefree
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import Optimizer

from .story import Healthy, Story

MakeOptimizer = Callable[[Iterable[Tensor]], Optimizer]


def make_digits() -> tuple[Tensor, Tensor]:
    """Noisy pictures of four made-up digits, and which digit each is."""
    patterns = torch.randn(4, 1, 6, 6)
    digits = torch.arange(32) % 4
    return patterns[digits] + 0.3 * torch.randn(32, 1, 6, 6), digits


def make_network() -> nn.Sequential:
    """A small convolutional network."""
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(64, 4))


def gradient_norms(model: nn.Module) -> dict[str, float]:
    """The norm of every parameter's gradient."""
    return {name: parameter.grad.norm().item() for name, parameter in model.named_parameters()}


def adamw(parameters: Iterable[Tensor]) -> Optimizer:
    """The class of the issue, which normalises the gradients in place."""
    return schedulefree.AdamWScheduleFree(parameters, lr=1e-2)


def sgd(parameters: Iterable[Tensor]) -> Optimizer:
    """The other class: with weight decay it adds that to the gradients in place."""
    return schedulefree.SGDScheduleFree(parameters, lr=1e-2, weight_decay=0.1)


def reference(parameters: Iterable[Tensor]) -> Optimizer:
    """The readable form of the first, which leaves the gradients alone."""
    return schedulefree.AdamWScheduleFreeReference(parameters, lr=1e-2)


def log_after_step(make_optimizer: MakeOptimizer = adamw, steps: int = 3) -> list[dict[str, float]]:
    """Log how large the gradients are, once the step is done."""
    torch.manual_seed(7)
    pictures, digits = make_digits()
    model = make_network()
    optimizer = make_optimizer(model.parameters())
    optimizer.train()
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = cross_entropy(model(pictures), digits)
        loss.backward()
        optimizer.step()
        history.append(gradient_norms(model))
    return history


def log_before_step(make_optimizer: MakeOptimizer = adamw, steps: int = 3) -> list[dict[str, float]]:
    """Log how large the gradients are while they still are gradients."""
    torch.manual_seed(7)
    pictures, digits = make_digits()
    model = make_network()
    optimizer = make_optimizer(model.parameters())
    optimizer.train()
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = cross_entropy(model(pictures), digits)
        loss.backward()
        history.append(gradient_norms(model))
        optimizer.step()
    return history


class Trainer:
    """Trains with weight decay and measures the total norm with the function that can also clip it."""

    def __init__(self) -> None:
        torch.manual_seed(8)
        self.model = make_network()
        self.optimizer = schedulefree.AdamWScheduleFree(self.model.parameters(), lr=1e-2, weight_decay=0.01)
        self.norms: list[float] = []

    def total_norm(self) -> float:
        """The norm of all gradients together, left as they are."""
        return nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=float("inf")).item()

    def update(self) -> None:
        """Step, then note the norm."""
        self.optimizer.step()
        self.norms.append(self.total_norm())

    def train(self, steps: int = 3) -> list[float]:
        """Train and return the norms noted on the way."""
        pictures, digits = make_digits()
        self.model.train()
        self.optimizer.train()
        for _ in range(steps):
            cross_entropy(self.model(pictures), digits).backward()
            self.update()
            self.optimizer.zero_grad()
        return self.norms

    @torch.no_grad()
    def accuracy(self) -> float:
        """How many digits are told right, with the averaged weights."""
        pictures, digits = make_digits()
        self.model.eval()
        self.optimizer.eval()
        return (self.model(pictures).argmax(dim=-1) == digits).float().mean().item()


class CarefulTrainer(Trainer):
    """Notes the norm before the optimizer has its way with the gradients."""

    def update(self) -> None:
        self.norms.append(self.total_norm())
        self.optimizer.step()


def train_and_measure() -> float:
    """Alternate between training and measuring, each in its own mode."""
    trainer = CarefulTrainer()
    for _ in range(2):
        trainer.train(steps=2)
        accuracy = trainer.accuracy()
    return accuracy


STORIES = (
    Story(
        5,
        "norms-after-step",
        "Gradient norms are logged after AdamWScheduleFree has rescaled the gradients",
        broken=log_after_step,
        repaired=log_before_step,
        raises=None,
        rules=("AG408",),
        culprits=("optimizer.step()", "parameter.grad.norm()", "history.append(gradient_norms(model))"),
        names=("step", "grad"),
    ),
    Story(
        5,
        "sgd-norms-after-step",
        "Gradient norms are logged after SGDScheduleFree has added the weight decay to the gradients",
        broken=lambda: log_after_step(sgd),
        repaired=lambda: log_before_step(sgd),
        raises=None,
        rules=("AG408",),
        culprits=("optimizer.step()", "parameter.grad.norm()", "history.append(gradient_norms(model))"),
        names=("step", "grad"),
    ),
    Story(
        5,
        "total-norm-after-step",
        "clip_grad_norm_ measures what the step left of the gradients",
        broken=lambda: Trainer().train(),
        repaired=lambda: CarefulTrainer().train(),
        raises=None,
        rules=("AG408",),
        culprits=(
            "self.optimizer.step()",
            "nn.utils.clip_grad_norm_(",
            "self.norms.append(self.total_norm())",
        ),
        names=("step", "grad"),
    ),
)

HEALTHY = (
    Healthy(
        5,
        "reference-norms-after-step",
        "AdamWScheduleFreeReference leaves the gradients alone, so their norms may be logged after its step",
        lambda: log_after_step(reference),
    ),
    Healthy(
        5,
        "train-and-measure",
        "Schedule-free training and measuring, each in its own mode",
        train_and_measure,
    ),
)

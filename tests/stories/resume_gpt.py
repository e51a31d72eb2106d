"""Story 4: the GPT of "Build a Large Language Model (From Scratch)" resumes training from a checkpoint."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from llms_from_scratch.ch04 import GPTModel
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.optim import Optimizer

from .story import Healthy, Story

GPT_CONFIG = {
    "vocab_size": 60,
    "context_length": 8,
    "emb_dim": 16,
    "n_heads": 2,
    "n_layers": 2,
    "drop_rate": 0.1,
    "qkv_bias": False,
}
MakeOptimizer = Callable[[GPTModel], Optimizer]
Resume = Callable[[dict, MakeOptimizer], tuple[GPTModel, Optimizer]]


def adamw(model: GPTModel) -> Optimizer:
    """The optimizer of the book."""
    return torch.optim.AdamW(model.parameters(), lr=4e-4, weight_decay=0.1)


def momentum(model: GPTModel) -> Optimizer:
    """An optimizer whose only state is a momentum buffer."""
    return torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)


def batches(count: int) -> list[Tensor]:
    """Random text, one token longer than the context."""
    return [torch.randint(60, (2, 9)) for _ in range(count)]


def train_model_simple(model: GPTModel, optimizer: Optimizer, data: list[Tensor]) -> float:
    """The training loop of the book's fifth chapter; returns the last loss."""
    model.train()
    for batch in data:
        optimizer.zero_grad()
        logits = model(batch[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
    return loss.item()


def interrupted_run(path: Path, make_optimizer: MakeOptimizer) -> None:
    """Train a little, then save what is needed to go on."""
    model = GPTModel(GPT_CONFIG)
    optimizer = make_optimizer(model)
    train_model_simple(model, optimizer, batches(2))
    checkpoint = {"model_state_dict": model.state_dict(), "optimizer_state_dict": optimizer.state_dict()}
    torch.save(checkpoint, path)


def resumed_run(resume: Resume, make_optimizer: MakeOptimizer = adamw) -> float:
    """Train, save, load and train on; returns the last loss."""
    torch.manual_seed(6)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model_and_optimizer.pth")
        interrupted_run(path, make_optimizer)
        checkpoint = torch.load(path, weights_only=True)
    model, optimizer = resume(checkpoint, make_optimizer)
    return train_model_simple(model, optimizer, batches(3))


def load_then_convert(checkpoint: dict, make_optimizer: MakeOptimizer) -> tuple[GPTModel, Optimizer]:
    """Load model and optimizer, then go over to double precision."""
    model = GPTModel(GPT_CONFIG)
    model.load_state_dict(checkpoint["model_state_dict"])
    optimizer = make_optimizer(model)
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    model.to(torch.float64)
    return model, optimizer


def convert_then_load(checkpoint: dict, make_optimizer: MakeOptimizer) -> tuple[GPTModel, Optimizer]:
    """Go over to double precision first: the optimizer's state follows its parameters when it is loaded."""
    model = GPTModel(GPT_CONFIG)
    model.load_state_dict(checkpoint["model_state_dict"])
    model.to(torch.float64)
    optimizer = make_optimizer(model)
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    return model, optimizer


def load_as_saved(checkpoint: dict, make_optimizer: MakeOptimizer) -> tuple[GPTModel, Optimizer]:
    """Go on exactly as before."""
    model = GPTModel(GPT_CONFIG)
    optimizer = make_optimizer(model)
    model.load_state_dict(checkpoint["model_state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    return model, optimizer


def park_moments(optimizer: Optimizer, device: str | torch.device) -> None:
    """Move Adam's moments out of the way, as long as nobody trains."""
    for state in optimizer.state.values():
        for moment in ("exp_avg", "exp_avg_sq"):
            state[moment] = state[moment].to(device)


def load_and_park(checkpoint: dict, make_optimizer: MakeOptimizer) -> tuple[GPTModel, Optimizer]:
    """Make room for a look at the loaded model, and forget the optimizer's state on the other device."""
    model, optimizer = load_as_saved(checkpoint, make_optimizer)
    park_moments(optimizer, "meta")
    model.eval()
    with torch.no_grad():
        model(torch.zeros(1, 8, dtype=torch.long))
    return model, optimizer


def look_then_load(checkpoint: dict, make_optimizer: MakeOptimizer) -> tuple[GPTModel, Optimizer]:
    """Look at the loaded model before there is an optimizer, then load its state beside the parameters."""
    model = GPTModel(GPT_CONFIG)
    model.load_state_dict(checkpoint["model_state_dict"])
    model.eval()
    with torch.no_grad():
        model(torch.zeros(1, 8, dtype=torch.long))
    optimizer = make_optimizer(model)
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    park_moments(optimizer, model.tok_emb.weight.device)
    return model, optimizer


STORIES = (
    Story(
        4,
        "converted-after-loading",
        "The model goes over to float64 after the optimizer's state was loaded in float32",
        broken=lambda: resumed_run(load_then_convert),
        repaired=lambda: resumed_run(convert_then_load),
        raises="RuntimeError: expected dtype float for `end` but got dtype double",
        rules=("AG402",),
        culprits=("model.to(torch.float64)",),
        names=("exp_avg", "tok_emb.weight"),
    ),
    Story(
        4,
        "state-on-other-device",
        "The optimizer's moments stay on another device than the parameters",
        broken=lambda: resumed_run(load_and_park),
        repaired=lambda: resumed_run(look_then_load),
        raises="RuntimeError: Tensor on device cpu is not on the expected device meta!",
        rules=("AG401",),
        culprits=("state[moment] = state[moment].to(device)", 'park_moments(optimizer, "meta")'),
        names=("exp_avg", "meta", "cpu"),
    ),
    Story(
        4,
        "momentum-left-behind",
        "SGD says nothing when its momentum is left in lower precision",
        broken=lambda: resumed_run(load_then_convert, momentum),
        repaired=lambda: resumed_run(convert_then_load, momentum),
        raises=None,
        rules=("AG402",),
        culprits=("model.to(torch.float64)",),
        names=("momentum_buffer",),
    ),
)

HEALTHY = (Healthy(4, "resumed-as-saved", "A run resumed as it was saved", lambda: resumed_run(load_as_saved)),)

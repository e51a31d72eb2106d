"""Small training and evaluation programs; each returns everything it computed."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.undisturbed.bits import Bits, bits_of, trace_of


class Net(nn.Module):
    """Convolution, batch norm, dropout, an in-place activation."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.act = nn.ReLU(inplace=True)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(4 * 16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.drop(self.act(self.norm(self.conv(x)))).flatten(1))


def _steps(model: nn.Module, optimizer: torch.optim.Optimizer, forward=None, steps: int = 2) -> Bits:
    outputs = []
    for _ in range(steps):
        x, y = torch.randn(5, 1, 6, 6), torch.randint(0, 3, (5,))
        optimizer.zero_grad()
        out = model(x) if forward is None else forward(x)
        loss = F.cross_entropy(out.float(), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        outputs += [out, loss]
    return trace_of(outputs, model, optimizer)


def train_sgd() -> Bits:
    model = Net()
    return _steps(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, foreach=True))


def train_adamw() -> Bits:
    model = Net()
    return _steps(model, torch.optim.AdamW(model.parameters(), lr=0.1))


def train_fused() -> Bits:
    model = Net()
    return _steps(model, torch.optim.AdamW(model.parameters(), lr=0.1, fused=True))


def train_checkpointed_reentrant() -> Bits:
    model = Net()
    forward = lambda x: checkpoint(model, x.requires_grad_(), use_reentrant=True)  # noqa: E731
    return _steps(model, torch.optim.AdamW(model.parameters()), forward)


def train_checkpointed() -> Bits:
    model = Net()
    forward = lambda x: checkpoint(model, x, use_reentrant=False)  # noqa: E731
    return _steps(model, torch.optim.AdamW(model.parameters()), forward)


def train_autocast() -> Bits:
    model = Net()

    def forward(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x)

    return _steps(model, torch.optim.SGD(model.parameters(), lr=0.1), forward)


def train_offloaded() -> Bits:
    model = Net()

    def forward(x):
        with torch.autograd.graph.save_on_cpu():
            return model(x)

    return _steps(model, torch.optim.SGD(model.parameters(), lr=0.1), forward)


def train_lbfgs() -> Bits:
    model = nn.Linear(4, 2)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        losses.append(loss)
        return loss

    optimizer.step(closure)
    return trace_of(losses, model, optimizer)


def train_recurrent() -> Bits:
    model = nn.LSTM(3, 5, num_layers=2, dropout=0.2)
    optimizer = torch.optim.Adam(model.parameters())
    out, state = model(torch.randn(7, 2, 3))
    out.pow(2).mean().backward()
    optimizer.step()
    return trace_of([out, *state], model, optimizer)


def penalised() -> Bits:
    """Double backward, as a gradient penalty does."""
    model = nn.Sequential(nn.Linear(4, 6), nn.Softplus(), nn.Linear(6, 1))
    x = torch.randn(3, 4, requires_grad=True)
    (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    penalty = (gradient.norm(dim=1) - 1).pow(2).mean()
    penalty.backward()
    return trace_of([gradient, penalty], model) | {"input": bits_of(x.grad)}


def embedded() -> Bits:
    """An embedding that renormalises its own weight in forward, with sparse gradients."""
    model = nn.Embedding(9, 4, max_norm=0.5, sparse=True)
    optimizer = torch.optim.SparseAdam(list(model.parameters()))
    out = model(torch.tensor([1, 4, 4, 7]))
    out.sum().backward()
    dense = model.weight.grad.to_dense()
    optimizer.step()
    model.weight.grad = None
    return trace_of([out, dense], model, optimizer)


def evaluated() -> Bits:
    model = Net().eval()
    with torch.no_grad():
        out = model(torch.randn(5, 1, 6, 6))
    return trace_of([out], model)


def evaluated_with_grad() -> Bits:
    model = Net().eval()
    out = model(torch.randn(5, 1, 6, 6))
    out.sum().backward()
    return trace_of([out], model)


def evaluated_under_inference_mode() -> Bits:
    model = Net().eval()
    with torch.inference_mode():
        out = model(torch.randn(5, 1, 6, 6))
    return trace_of([out], model)


def transformer() -> Bits:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    out = model(torch.randn(2, 5, 8))
    out.pow(2).sum().backward()
    return trace_of([out], model)


def transformer_evaluated() -> Bits:
    """Torch has a fast path for this one that it leaves while a torch-function mode is on."""
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    with torch.no_grad():
        out = model(torch.randn(2, 5, 8))
    return trace_of([out], model)


PROGRAMS = (
    train_sgd,
    train_adamw,
    train_fused,
    train_checkpointed_reentrant,
    train_checkpointed,
    train_autocast,
    train_offloaded,
    train_lbfgs,
    train_recurrent,
    penalised,
    embedded,
    evaluated,
    evaluated_with_grad,
    evaluated_under_inference_mode,
    transformer,
    transformer_evaluated,
)

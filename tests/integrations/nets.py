"""A net for preflight(), and all that a preflight could disturb."""

import torch
from torch import nn

from tests.undisturbed.bits import bits_of, streams


class Net(nn.Module):
    """Dropout, batch norm, a tied head, a frozen layer and a layer in no optimizer."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)
        self.extra = nn.Linear(4, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        hidden = self.embed(ids)
        return self.head(self.extra(self.drop(self.norm(self.frozen(hidden)))) + hidden)


IDS = torch.arange(5)


def loss_of(model, ids):
    return nn.functional.cross_entropy(model(ids), ids)


def made():
    """A net that has been trained for two steps, with gradients and state, and its optimizer."""
    torch.manual_seed(3)
    model = Net()
    learning = [*model.embed.parameters(), *model.norm.parameters()]
    optimizer = torch.optim.AdamW([*learning, *model.frozen.parameters()], lr=0.1)
    for _ in range(2):
        loss_of(model, IDS).backward()
        optimizer.step()
    return model, optimizer


def everything(model, optimizer):
    """All that a preflight could disturb, with the identity of what could be exchanged."""
    parameters = list(model.parameters())
    return (
        bits_of(model.state_dict()),
        bits_of([p.grad for p in parameters]),
        [(id(p), id(p.grad), p._version, p.grad is not None and p.grad._version) for p in parameters],
        [(module.training, len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.modules()],
        bits_of(optimizer.state_dict()),
        [id(value) for state in optimizer.state.values() for value in state.values()],
        list(vars(optimizer)),
        streams(),
    )


def made_for(loss_fn, ids=IDS):
    model, optimizer = made()
    return model, ids, loss_fn, optimizer

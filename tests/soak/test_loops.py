"""Training loops beyond the plain one: averages, inner loops, scalers, closures, checkpoints, recurrence."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from .quiet import X, Y, assert_quiet, mlp, stepped


def averaged_weights():
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    ema = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        stepped(optimizer, F.cross_entropy(net(X), Y))
        ema.update_parameters(net)
    torch.optim.swa_utils.update_bn([X], ema)
    with torch.inference_mode():
        ema(X)


def meta_learning():
    net = mlp()
    meta = torch.optim.Adam(net.parameters())
    for _ in range(2):
        weights = dict(net.named_parameters())
        inner = F.cross_entropy(functional_call(net, weights, (X,)), Y)
        slopes = torch.autograd.grad(inner, tuple(weights.values()), create_graph=True)
        fast = {name: w - 0.1 * slope for (name, w), slope in zip(weights.items(), slopes, strict=True)}
        stepped(meta, F.cross_entropy(functional_call(net, fast, (X.flip(0),)), Y.flip(0)))


def first_order_meta_learning():
    net = mlp()
    for _ in range(2):
        clone = copy.deepcopy(net)
        inner = torch.optim.SGD(clone.parameters(), lr=0.1)
        for _ in range(2):
            stepped(inner, F.cross_entropy(clone(X), Y))
        with torch.no_grad():
            for slow, fast in zip(net.parameters(), clone.parameters(), strict=True):
                slow.lerp_(fast, 0.5)


def scaled_low_precision():
    net = mlp()
    optimizer = torch.optim.AdamW(net.parameters())
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(X), Y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def second_order_optimizer():
    net = mlp()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(net(X), Y)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)


def accumulated_gradients():
    net = mlp()
    optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=4)
    for _ in range(2):
        for inputs, labels in zip(X.split(2), Y.split(2), strict=True):
            (F.cross_entropy(net(inputs), labels) / 4).backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()


def checkpointed_both_ways():
    blocks, head = nn.Sequential(*(mlp(4, 4) for _ in range(4))), nn.Linear(4, 2)
    optimizer = torch.optim.SGD([*blocks.parameters(), *head.parameters()], lr=0.1)
    for reentrant in (True, False):
        x = X.clone().requires_grad_()
        hidden = checkpoint_sequential(blocks[:2], 2, x, use_reentrant=reentrant)
        for block in blocks[2:]:
            hidden = checkpoint(block, hidden, use_reentrant=reentrant)
        stepped(optimizer, F.cross_entropy(head(hidden), Y))


def graph_network():
    message, update = nn.Linear(8, 4), nn.GRUCell(4, 4)
    optimizer = torch.optim.Adam([*message.parameters(), *update.parameters()])
    source, target = torch.randint(0, 8, (20,)), torch.randint(0, 8, (20,))
    for _ in range(2):
        nodes = X
        for _ in range(2):
            sent = message(torch.cat([nodes[source], nodes[target]], dim=1)).relu_()
            gathered = torch.zeros(8, 4).index_add_(0, target, sent)
            gathered /= torch.zeros(8, 1).index_add_(0, target, torch.ones(20, 1)).clamp_(min=1)
            nodes = update(gathered, nodes)
        stepped(optimizer, nodes.pow(2).mean())


def truncated_recurrence():
    cell, head = nn.LSTMCell(4, 6), nn.Linear(6, 2)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
    state = (torch.zeros(8, 6), torch.zeros(8, 6))
    for _ in range(2):
        loss = torch.zeros(())
        for _ in range(3):
            state = cell(X, state)
            loss += F.cross_entropy(head(state[0]), Y)
        stepped(optimizer, loss)
        state = tuple(part.detach() for part in state)


LOOPS = [
    averaged_weights,
    meta_learning,
    first_order_meta_learning,
    scaled_low_precision,
    second_order_optimizer,
    accumulated_gradients,
    checkpointed_both_ways,
    graph_network,
    truncated_recurrence,
]


@pytest.mark.parametrize("values", [False, True], ids=["structure", "values"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_loop(loop, values):
    """A healthy training loop raises no alarm."""
    assert_quiet(loop, values=values)

"""CUDA graphs: what is recorded into one replays as it would without the inspector."""

from __future__ import annotations

import torch
from torch import nn

from autograd_inspector import inspect


def captured(device: torch.device) -> list[float]:
    """The losses of a whole step that is replayed."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, capturable=True)
    x, y = torch.randn(32, 8, device=device), torch.randn(32, 1, device=device)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    losses = []
    for _ in range(3):
        graph.replay()
        losses.append(loss.item())
    return losses


def test_a_step_in_a_graph(device):
    """A captured step trains with the same losses, and nothing is said against it."""
    plain = captured(device)
    with inspect() as inspection:
        inspected = captured(device)
    assert inspected == plain
    assert plain[2] < plain[0]
    assert [finding for finding in inspection.report.findings if finding.severity in ("error", "warning")] == []


def test_graphed_callables(device):
    """A module that `make_graphed_callables` replays learns, and nothing is said against it."""
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh()).to(device)
    head = nn.Linear(16, 1, device=device)
    x = torch.randn(32, 8, device=device)
    graphed = torch.cuda.make_graphed_callables(model, (torch.randn(32, 8, device=device),))
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    before = [p.detach().clone() for p in model.parameters()]
    with inspect() as inspection:
        for _ in range(2):
            optimizer.zero_grad()
            head(graphed(x)).square().mean().backward()
            optimizer.step()
    assert all(not torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True))
    assert [finding for finding in inspection.report.findings if finding.severity in ("error", "warning")] == []

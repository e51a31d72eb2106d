"""Faults that need a real device: state elsewhere, fused flags, scaled gradients, tensors of two devices."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from autograd_inspector import Report, inspect


def codes(report: Report) -> set[str]:
    """The rules that warn."""
    return {finding.rule for finding in report.findings if finding.severity in ("error", "warning")}


def trained(model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device) -> None:
    model(torch.randn(4, 8, device=device)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def test_state_left_on_the_host(device):
    """A model that moves after the optimizer's first step leaves the state behind: the state is named."""
    model = nn.Linear(8, 1)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    trained(model, optimizer, torch.device("cpu"))
    model.to(device)
    with pytest.raises(RuntimeError), inspect() as inspection:
        trained(model, optimizer, device)
    assert any(code.startswith("AG4") for code in codes(inspection.report))


def test_placement_names_devices(device):
    """The table of placement tells that parameters are on the device and their state is on the host."""
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    trained(model, optimizer, torch.device("cpu"))
    with inspect() as inspection:
        model.to(device)
    text = inspection.report.to_text()
    assert "cuda:0" in text
    assert "cpu" in text


def test_a_loaded_state_follows_its_parameters(device):
    """`load_state_dict` casts the state to the parameters' device: nothing is said."""
    source = nn.Linear(8, 1)
    saved = torch.optim.AdamW(source.parameters())
    trained(source, saved, torch.device("cpu"))
    model = nn.Linear(8, 1, device=device)
    optimizer = torch.optim.AdamW(model.parameters())
    with inspect() as inspection:
        optimizer.load_state_dict(saved.state_dict())
        trained(model, optimizer, device)
    assert codes(inspection.report) == set()


def test_the_input_stayed_on_the_host(device):
    """An input on the host is named where torch refuses it."""
    model = nn.Linear(8, 1, device=device)
    with pytest.raises(RuntimeError), inspect() as inspection:
        model(torch.randn(4, 8)).sum().backward()
    assert codes(inspection.report) == {"AG415"}


def test_gradients_clipped_before_they_are_unscaled(device):
    """Clipping works on scaled gradients where `unscale_` does not come first."""
    model = nn.Linear(8, 1, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    with inspect() as inspection:
        for _ in range(2):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(torch.randn(4, 8, device=device)).square().mean()
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    assert codes(inspection.report)


def test_a_scaler_used_as_it_should_be(device):
    """Scale, unscale, clip, step, update: nothing is said, also where a step is skipped for its infinities."""
    model = nn.Linear(8, 1, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**40)
    with inspect() as inspection:
        for _ in range(3):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(torch.randn(4, 8, device=device)).square().mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    assert codes(inspection.report) == set()


def test_the_step_goes_past_the_scaler(device):
    """`optimizer.step()` on gradients that are still scaled."""
    model = nn.Linear(8, 1, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    scaler = torch.amp.GradScaler("cuda")
    with inspect() as inspection:
        for _ in range(2):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(torch.randn(4, 8, device=device)).square().mean()
            scaler.scale(loss).backward()
            optimizer.step()
            optimizer.zero_grad()
    assert codes(inspection.report)


def test_parameters_that_are_copies_on_the_device(device):
    """`.cuda()` of a parameter is no leaf: its gradient stays empty."""
    weight = torch.randn(8, 1, requires_grad=True).to(device)
    with inspect() as inspection:
        (torch.randn(4, 8, device=device) @ weight).sum().backward()
        _ = weight.grad
    assert "AG302" in codes(inspection.report)


def test_changed_after_it_was_saved(device):
    """An in-place change of what autograd saved on the device is named by the line that made it."""
    x = torch.randn(4, 8, device=device, requires_grad=True)

    def spoiled() -> None:
        y = torch.sigmoid(x)
        y.add_(1)
        y.sum().backward()

    with pytest.raises(RuntimeError, match="modified by an inplace"), inspect() as inspection:
        spoiled()
    [finding] = [finding for finding in inspection.report.findings if finding.severity == "error"]
    assert any("y.add_(1)" in (location.source or "") for location in finding.locations)


def test_data_parallel(device):
    """`DataParallel` on one device changes nothing: nothing is said."""
    model = nn.DataParallel(nn.Linear(8, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with inspect() as inspection:
        trained(model, optimizer, device)
    assert codes(inspection.report) == set()

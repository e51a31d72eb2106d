"""A capture that is stopped on request while the program runs."""

from __future__ import annotations

import threading

import torch
from torch import nn

from autograd_inspector import inspect
from autograd_inspector.capture.session import STOPPED, open_session


def trained(stop_at: int = -1) -> list[torch.Tensor]:
    """The parameters after five steps; another thread stops the capture before step ``stop_at``."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(5):
        if step == stop_at:
            thread = threading.Thread(target=open_session().stop)
            thread.start()
            thread.join()
        optimizer.zero_grad()
        net(torch.ones(2, 3)).pow(2).mean().backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in net.parameters()]


def test_the_program_goes_on_and_the_report_has_what_ran_before():
    """No op of a later step is in it, the placement is that of the end, nothing is found in a healthy program."""
    alone = trained()
    with inspect() as inspection:
        stopped = trained(stop_at=2)
    assert all(map(torch.equal, alone, stopped))
    report = inspection.report
    assert len(report.capture.steps) == 2
    assert sum(op.name == "tanh" for op in report.capture.ops) == 2
    assert [entry.name for entry in report.placement.rows[0].state] == ["step", "exp_avg", "exp_avg_sq"]
    assert report.findings == ()
    assert STOPPED in report.notes
    assert "recording stopped" in report.to_text().split("\n")[0]


def test_progress_can_be_asked_for_in_any_thread():
    """Ops, complete steps and seconds so far; that it was stopped."""
    seen = []
    with inspect():
        trained()
        thread = threading.Thread(target=lambda: seen.append(open_session().progress))
        thread.start()
        thread.join()
        open_session().stop()
        seen.append(open_session().progress)
    running, stopped = seen
    assert running.ops > 25
    assert running.steps == 5
    assert running.seconds > 0
    assert not running.stopped
    assert stopped.stopped
    assert open_session() is None


def test_another_capture_may_be_opened_once_one_is_stopped():
    """The program's own block is not refused because an outer one still waits for its end."""
    with inspect() as outer:
        torch.ones(1).exp()
        open_session().stop()
        with inspect() as inner:
            torch.ones(1).sin()
        torch.ones(1).cos()
    assert [op.name for op in outer.report.capture.ops] == ["ones", "exp"]
    assert [op.name for op in inner.report.capture.ops] == ["ones", "sin"]

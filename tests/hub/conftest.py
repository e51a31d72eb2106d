from __future__ import annotations

import pytest
import torch

import autograd_inspector
from autograd_inspector import Report
from autograd_inspector.kernel.hub.hub import Hub
from tests.shells import plain_shell, shell

__all__ = ["plain_shell", "shell"]


class Sent(list):
    """What the hub told its front ends."""

    @property
    def kinds(self) -> list[str]:
        return [message.type for message in self]


@pytest.fixture
def hub(monkeypatch):
    """A hub whose messages are collected in `hub.sent`."""
    made = Hub()
    made.sent = Sent()
    monkeypatch.setattr(made.channel, "tell", made.sent.append)
    return made


def capture(factor: float = 2.0) -> Report:
    """A small healthy capture."""
    w = torch.ones(3, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        (w * factor).sum().backward()
    return inspection.report

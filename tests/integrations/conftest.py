"""A training that is watched for what it computes and for what it leaves behind."""

import pytest
import torch

from autograd_inspector.capture.session import current


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Our own failures fail the test."""
    monkeypatch.setenv("AUTOGRAD_INSPECTOR_STRICT", "1")


@pytest.fixture(autouse=True)
def nothing_stays_open():
    """After every test: no capture, no torch-function mode, no global hook."""
    hooks = torch.nn.modules.module
    before = len(hooks._global_forward_pre_hooks), len(hooks._global_forward_hooks)
    yield
    assert current() is None
    assert torch._C._len_torch_function_stack() == 0
    assert (len(hooks._global_forward_pre_hooks), len(hooks._global_forward_hooks)) == before


class Writer:
    """What a SummaryWriter is to us."""

    def __init__(self) -> None:
        self.texts = []

    def add_text(self, tag, text, step) -> None:
        self.texts.append((tag, text, step))


@pytest.fixture
def writer() -> Writer:
    return Writer()

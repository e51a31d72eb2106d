"""Nothing waits for a device inside a step: numbers are brought over together, when the step is over."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
import torch
from torch import nn

from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.observers.optimizers.watched_calls import WatchedCalls
from autograd_inspector.capture.session import Session
from autograd_inspector.capture.tensors import reading
from autograd_inspector.capture.vitals import collector
from autograd_inspector.capture.vitals.collector import Vitals

WAITING = (
    "item", "tolist", "cpu", "numpy", "nonzero", "__bool__", "__float__", "__int__", "__index__", "__array__",
)  # fmt: skip
"""What waits for the device of a tensor, as `.item()` does."""


@pytest.fixture
def waits(monkeypatch):
    """How often the inspector's own code called what waits."""
    counted = Counter()

    def counting(name, real):
        def call(*args, **kwargs):
            caller = sys._getframe(1)
            own = caller.f_globals["__name__"].startswith("autograd_inspector.")
            if own and caller.f_code not in RELAYS:
                counted[name] += 1
            return real(*args, **kwargs)

        return call

    for name in WAITING:
        monkeypatch.setattr(torch.Tensor, name, counting(name, getattr(torch.Tensor, name)))
    return counted


RELAYS = {
    Recorder.__torch_function__.__code__,
    Recorder.call.__code__,
    Recorder.record.__code__,
    WatchedCalls.make.__code__,
}
"""These make the program's own calls."""


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16, sparse=False)
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 1)

    def forward(self, words):
        return self.second(torch.relu(self.first(self.embed(words)))).sigmoid()


def run(steps, waits, device="cpu"):
    """What was waited for inside each step, and after the last one."""
    net, told = Net().to(device), []
    optimizer = torch.optim.AdamW(net.parameters())
    scaler = torch.amp.GradScaler(device, enabled=device != "cpu")
    session = Session(vitals=Vitals()).start(held=lambda: True)
    words = torch.randint(0, 20, (16, 4), device=device)
    for _ in range(steps):
        optimizer.zero_grad()
        scaler.scale(net(words).mean()).backward()
        told.append(dict(waits))
        scaler.step(optimizer)
        scaler.update()
        told.append(dict(waits))
    capture = session.finish()
    assert capture.vitals.seen == steps
    assert not [note for note in capture.notes if "vitals" in note]
    return told


def test_one_transfer_a_step(waits):
    """Where nothing has to be waited for, the numbers of a step come when the next one steps: in one call."""
    told = run(5, waits)
    assert waits.pop("tolist") == 5
    assert not waits.pop("nonzero", 0)
    assert [each.get("tolist", 0) for each in told] == [0, 0, 0, 1, 1, 2, 2, 3, 3, 4]


def test_a_device_is_not_waited_for(waits, monkeypatch):
    """Of another device the numbers of many steps stay there."""
    monkeypatch.setattr(collector, "on_host", lambda _: False)
    told = run(12, waits)
    assert [each for each in told if each] == []
    assert waits["tolist"] == 12


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_is_not_waited_for(waits, monkeypatch):
    """torch itself raises where something waits for the device, and nothing does."""
    monkeypatch.setattr(reading, "_must_not_wait", lambda: False)
    net, words = Net().cuda(), torch.randint(0, 20, (16, 4), device="cuda")
    optimizer = torch.optim.AdamW(net.parameters())
    session = Session(vitals=Vitals()).start(held=lambda: True)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(8):
            optimizer.zero_grad()
            net(words).mean().backward()
            optimizer.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
        capture = session.finish()
    assert capture.vitals.seen == 8
    assert not [note for note in capture.notes if "vitals" in note]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_knows_its_peak():
    """The peak is what torch's allocator counted, where a step reached more than any before."""
    torch.cuda.reset_peak_memory_stats()
    net, words = Net().cuda(), torch.randint(0, 20, (4096, 64), device="cuda")
    optimizer = torch.optim.AdamW(net.parameters())
    session = Session(vitals=Vitals()).start(held=lambda: True)
    net(words).mean().backward()
    optimizer.step()
    memory = session.finish().vitals.memory
    assert memory.peak[0] == pytest.approx(torch.cuda.memory_stats()["allocated_bytes.all.peak"], rel=0.01)
    assert memory.peak_op[0]

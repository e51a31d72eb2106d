"""Calls of modules in threads that are no part of the capture."""

import threading

import torch
from torch import nn

import autograd_inspector
from autograd_inspector.model.program_events import CalledElsewhere


def test_a_thread_that_calls_a_model_again_and_again_fills_no_record():
    """A few of its calls are noted, and as many again where the mode is another one."""
    net = nn.Linear(4, 2)

    def serve():
        for _ in range(50):
            net(torch.ones(1, 4))
        with torch.no_grad():
            for _ in range(50):
                net(torch.ones(1, 4))

    with autograd_inspector.inspect() as inspection:
        net(torch.ones(1, 4)).sum().backward()
        thread = threading.Thread(target=serve)
        thread.start()
        thread.join()
    noted = inspection.report.capture.events_of(CalledElsewhere)
    assert 1 <= len(noted) <= 10
    assert {event.recorded for event in noted} == {True, False}

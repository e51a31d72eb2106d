"""Seeds that the program gives torch's generators."""

from __future__ import annotations

import torch

from autograd_inspector import inspect
from autograd_inspector.model.program_events import RandomStateSet


def test_each_seed_is_noted_once_under_either_name():
    """And the state that is put back after a seed; the functions are those that they were."""
    seed, own, state = torch.manual_seed, torch.random.manual_seed, torch.random.get_rng_state()
    with inspect() as inspection:
        torch.manual_seed(1)
        torch.random.manual_seed(seed=2)
        with torch.random.fork_rng():
            torch.manual_seed(3)
        with torch.random.fork_rng():
            torch.rand(1)
        assert torch.random.manual_seed is own
    torch.random.set_rng_state(state)
    events = inspection.report.capture.events_of(RandomStateSet)
    assert [event.seed for event in events] == [1, 2, 3, -1]
    assert (torch.manual_seed, torch.random.manual_seed) == (seed, own)

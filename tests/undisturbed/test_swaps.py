"""``swap_tensors`` works in a capture as outside: the capture watches tensors, and swapping tolerates no watcher."""

import weakref

import pytest
import torch
from torch import nn
from torch.utils import swap_tensors

import autograd_inspector
from tests.undisturbed.bits import run, trace_of

pytestmark = pytest.mark.undisturbed


@pytest.fixture
def swapping():
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def stepped(model, optimizer, x):
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.detach()


def converted_in_training():
    """Gradients are there as well, and are swapped with their parameters."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(4, 3)
    outputs = [stepped(model, optimizer, x)]
    model.double()
    optimizer.load_state_dict(optimizer.state_dict())
    outputs += [stepped(model, optimizer, x.double()) for _ in range(2)]
    return trace_of(outputs, model, optimizer)


def loaded_in_training():
    model, other = nn.Linear(3, 3), nn.Linear(3, 3)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(4, 3)
    outputs = [stepped(model, optimizer, x)]
    model.load_state_dict(other.state_dict())
    outputs += [stepped(model, optimizer, x)]
    return trace_of(outputs, model, optimizer)


@pytest.mark.usefixtures("swapping")
@pytest.mark.parametrize("program", [converted_in_training, loaded_in_training])
def test_swapped_parameters_keep_their_bits(program):
    """A conversion or a load that swaps parameters computes the same with and without the inspector."""
    plain, inspected = run(program, inspected=False), run(program, inspected=True)
    for name, bits in plain.items():
        assert inspected[name] == bits, f"{name} differ"


@pytest.mark.parametrize("imported", [True, False])
def test_tensors_that_the_capture_knows_are_swapped(imported):
    """Whether the program calls the function by its module or imported it before the capture began."""
    with autograd_inspector.inspect() as inspection:
        one, other = torch.ones(2), torch.zeros(3, dtype=torch.float64)
        watched = (one + 1, other + 1)
        (swap_tensors if imported else torch.utils.swap_tensors)(one, other)
        assert one.shape == (3,)
        assert other.dtype == torch.float32
        watched = (*watched, one + 1)
    assert not inspection.report.capture.stopped
    assert watched[-1].dtype == torch.float64


@pytest.mark.parametrize("which", [0, 1])
def test_a_weak_reference_of_the_program_still_forbids_it(which):
    """torch raises in its own words for a tensor that the program itself watches, and nothing is swapped."""

    def refused():
        pair = (torch.ones(2), torch.zeros(3))
        watcher = weakref.ref(pair[which])
        with pytest.raises(RuntimeError) as caught:
            torch.utils.swap_tensors(*pair)
        assert watcher() is pair[which]
        assert pair[0].shape == (2,)
        return str(caught.value)

    with autograd_inspector.inspect() as inspection:
        text = refused()
    assert text == refused() == f"Cannot swap t{which + 1} because it has weakref associated with it"
    assert not inspection.report.capture.stopped


def test_a_swap_that_fails_leaves_the_records_right():
    """A graph that holds a tensor forbids the swap as without a capture, and the capture still tells what happened."""
    with autograd_inspector.inspect() as inspection:
        w, other = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(2))
        loss = (w * w).sum()
        with pytest.raises(RuntimeError, match="Expected use_count of t1"):
            torch.utils.swap_tensors(w, other)
        loss.backward()
    report = inspection.report
    assert not report.capture.stopped
    assert [report.capture.tensors[t].shape for run in report.capture.backwards for t in run.reached] == [(2,)]

"""Other threads: left alone, and the report says so."""

import threading

import torch
from torch import nn

from autograd_inspector.capture.recording.recording import OTHER_THREADS
from tests.capture.observe import names, observe


def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def everything():
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    with torch.no_grad():
        model(torch.ones(1, 3))
    with torch.inference_mode():
        model(torch.ones(1, 3))


def test_a_thread_leaves_no_trace_in_the_tape():
    """Process-wide hooks see the thread's modules, steps and modes, and ignore them."""

    def program():
        in_a_thread(everything)
        torch.ones(3).exp()

    capture = observe(program)
    assert names(capture) == ["ones", "exp"]
    assert (capture.calls, capture.steps, capture.backwards, capture.events) == ((), (), (), ())
    assert len(capture.regions) == 1
    assert capture.notes == (OTHER_THREADS,)


def test_a_thread_between_the_calls_of_a_module():
    """A module of the block keeps its call path while another thread calls modules."""

    class Waiting(nn.Module):
        def forward(self, x):
            in_a_thread(everything)
            return x.exp()

    capture = observe(lambda: nn.Sequential(Waiting())(torch.ones(1)))
    (exp,) = [op for op in capture.ops if op.name == "exp"]
    assert capture.calls[exp.call].path == "0"


def test_a_thread_without_torch_is_not_mentioned():
    """A progress bar's thread is nobody's business."""
    assert observe(lambda: in_a_thread(lambda: sum(range(10)))).notes == ()


def test_backward_called_from_another_thread():
    """It runs undisturbed, and the report says that it was not seen."""
    x = torch.ones(3, requires_grad=True)
    capture = observe(lambda: in_a_thread((x * 2).sum().backward))
    assert torch.equal(x.grad, torch.full((3,), 2.0))
    assert OTHER_THREADS in capture.notes


def test_a_capture_in_another_thread():
    """A block in a thread observes that thread."""
    captures = []
    in_a_thread(lambda: captures.append(observe(everything)))
    assert len(captures[0].steps) == 1
    assert captures[0].notes == ()

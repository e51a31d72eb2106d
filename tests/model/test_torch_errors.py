"""The one table of torch's messages, held against what this torch says."""

import copy
import pickle

import pytest
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from autograd_inspector.model.torch_errors import TorchError, says

w = lambda *shape: torch.ones(*shape, requires_grad=True)  # noqa: E731 - each program in one line


def modified():
    a = w(2)
    b = a.exp()
    b.add_(1)
    b.sum().backward()


def twice():
    loss = w(2).exp().sum()
    loss.backward()
    loss.backward()


def read_when_freed():
    result = w(2).exp()
    result.sum().backward()
    _ = result.grad_fn._saved_result


def overlapping():
    base = torch.ones(3)
    base[1:].add_(base[:-1])


def view_under(mode):
    base = w(2) * 1
    with mode():
        view = base[:1]
    view.add_(1)


def inference(use):
    with torch.inference_mode():
        made = torch.ones(2)
    use(made)


class Two(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad * 2


def double_backward():
    a = w(2)
    (grad,) = torch.autograd.grad(Once.apply(a).sum() * a.sum(), a, create_graph=True)
    grad.sum().backward()


def nan_found():
    with torch.autograd.detect_anomaly(check_nan=True):
        (w(2) * 0).sqrt().mul(0).sum().backward()


def load_other_groups():
    one, two = torch.optim.SGD([w(2)]), torch.optim.SGD([w(2), w(2)])
    one.load_state_dict(two.state_dict())


def tied():
    a = w(2)
    torch.optim.SGD([{"params": [a]}, {"params": [a]}])


E_ = TorchError
RAISED = [
    (E_.MODIFIED_IN_PLACE, modified),
    (E_.NO_GRAPH, torch.ones(()).backward),
    (E_.GRAPH_FREED, twice),
    (E_.SAVED_FREED, read_when_freed),
    (E_.NOT_A_SCALAR, (w(2) * 2).backward),
    (E_.VIEW_OF_LEAF, lambda: w(2)[:1].add_(1)),
    (E_.LEAF_IN_PLACE, lambda: w(2).add_(1)),
    (E_.OVERLAPS_ITSELF, lambda: torch.ones(1).expand(3).add_(1)),
    (E_.OVERLAPS_INPUT, overlapping),
    (E_.VIEW_IN_PLACE, lambda: (w(2) * 1).chunk(2)[0].add_(1)),
    (E_.SEVERAL_VIEWS, lambda: (w(2) * 1).chunk(2)[0].add_(1)),
    (E_.OUT_ARGUMENT, lambda: torch.add(w(2), 1, out=torch.ones(2))),
    (E_.VIEW_MADE_IN_NO_GRAD, lambda: view_under(torch.no_grad)),
    (E_.INFERENCE_SAVED, lambda: inference(lambda made: made * w(2))),
    (E_.INFERENCE_IN_PLACE, lambda: inference(lambda made: made.add_(1))),
    (E_.INFERENCE_OTHER, lambda: inference(torch.Tensor.requires_grad_)),
    (E_.NOT_DIFFERENTIABLE_ASKED, lambda: torch.autograd.grad(w(2).sum(), torch.ones(2))),
    (E_.NOT_IN_GRAPH, lambda: torch.autograd.grad(w(2).sum(), w(2))),
    (E_.NUMPY_OF_TRACKED, w(2).numpy),
    (E_.FLAGS_OF_NON_LEAF, lambda: (w(2) * 1).requires_grad_(False)),
    (E_.NOT_FLOATING, lambda: torch.ones(2, dtype=torch.int64).requires_grad_()),
    (E_.NON_LEAF_OPTIMIZED, lambda: torch.optim.SGD([w(2) * 1])),
    (E_.IN_SEVERAL_GROUPS, tied),
    (E_.NO_PARAMETERS, lambda: torch.optim.SGD([])),
    (E_.OTHER_GROUPS_LOADED, load_other_groups),
    (E_.DEEPCOPY_OF_NON_LEAF, lambda: copy.deepcopy(w(2) * 1)),
    (E_.WRONG_GRADIENTS, lambda: Two.apply(w(2)).sum().backward()),
    (E_.ONCE_DIFFERENTIABLE, double_backward),
    (E_.NAN_IN_BACKWARD, nan_found),
    (E_.NO_DERIVATIVE, lambda: torch.igamma(w(2), w(2)).sum().backward()),
    (E_.GRAD_OUTPUT_SHAPE, lambda: (w(2) * 1).backward(torch.ones(3))),
    (E_.DETACH_OF_VIEW, (w(2) * 1)[:1].detach_),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("error", "program"), RAISED, ids=[error.name for error, _ in RAISED])
def test_torch_says_so(error, program):
    """Each message of the table is one that this torch raises."""
    with pytest.raises((RuntimeError, ValueError, TypeError)) as raised:
        program()
    assert says(str(raised.value), error), str(raised.value)


def test_a_view_of_a_leaf_is_told_from_a_leaf():
    """The shorter message is not found in the longer one."""
    with pytest.raises(RuntimeError) as raised:
        w(2)[:1].add_(1)
    assert not says(str(raised.value), TorchError.LEAF_IN_PLACE)


def test_nothing_is_said_by_nothing():
    """No error has no message."""
    assert says("", *TorchError) is None
    assert says("CUDA out of memory", *TorchError) is None
    assert pickle.loads(pickle.dumps(TorchError.NO_GRAPH)) is TorchError.NO_GRAPH

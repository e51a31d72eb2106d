"""The one table of torch's messages, held against what this torch says."""

import copy
import functools
import pickle
from datetime import timedelta

import pytest
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

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


def compiled_twice():
    x = w(2)
    (slope,) = torch.autograd.grad(compiled()(x), x, create_graph=True)
    slope.sum().backward()


def compiled_once_and_kept():
    function = compiled()
    function(w(2)).backward()
    function(w(2)).backward(retain_graph=True)


def compiled():
    torch._dynamo.reset()
    return torch.compile(lambda x: x.exp().sin().sin().sum(), backend="aot_eager")


def double_backward():
    a = w(2)
    (grad,) = torch.autograd.grad(Once.apply(a).sum() * a.sum(), a, create_graph=True)
    grad.sum().backward()


def nan_found():
    with torch.autograd.detect_anomaly(check_nan=True):
        (w(2) * 0).sqrt().mul(0).sum().backward()


@torch.library.custom_op("inspector_errors::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return x / 2


def recomputed_again():
    chosen = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.sin.default])
    y = checkpoint(lambda x: x.sin().exp(), w(2), use_reentrant=False, context_fn=chosen).sum()
    y.backward(retain_graph=True)
    y.backward()


def load_other_groups():
    one, two = torch.optim.SGD([w(2)]), torch.optim.SGD([w(2), w(2)])
    one.load_state_dict(two.state_dict())


def tied():
    a = w(2)
    torch.optim.SGD([{"params": [a]}, {"params": [a]}])


def scaled(*calls):
    optimizer, scaler = torch.optim.SGD([w(2)], lr=0.1), torch.amp.GradScaler("cpu")
    optimizer.param_groups[0]["params"][0].grad = torch.ones(2)
    scaler.scale(torch.ones(()))
    for call in calls:
        getattr(scaler, call)(optimizer)


def sparse_step(kind, *, sparse=True):
    table = torch.nn.Embedding(3, 2, sparse=sparse)
    optimizer = kind(table.parameters(), lr=0.1)
    table(torch.tensor([1])).sum().backward()
    optimizer.step()


def decayed(parameters, lr):
    return torch.optim.SGD(parameters, lr, weight_decay=0.1)


half, mixed = torch.nn.Linear(2, 2).bfloat16(), torch.nn.Conv1d(1, 1, 1)


def waiting_for_a_rank():
    store = torch.distributed.HashStore()
    store.set_timeout(timedelta(milliseconds=10))
    store.wait(["never"])


E_ = TorchError
RAISED = [
    (E_.RANK_ABSENT, waiting_for_a_rank),
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
    (E_.COMPILED_TWICE, compiled_twice),
    (E_.SAVED_REUSED, compiled_once_and_kept),
    (E_.NAN_IN_BACKWARD, nan_found),
    (E_.NO_DERIVATIVE, lambda: torch.igamma(w(2), w(2)).sum().backward()),
    (E_.NO_FORMULA, lambda: halved(w(2)).sum().backward()),
    (E_.REGION_RECOMPUTED_AGAIN, recomputed_again),
    (E_.GRAD_OUTPUT_SHAPE, lambda: (w(2) * 1).backward(torch.ones(3))),
    (E_.GRADIENT_NOT_KEPT, torch.ones(2).retain_grad),
    (E_.HOOK_REFUSED, lambda: torch.ones(2).register_hook(print)),
    (E_.UNSCALED_AGAIN, lambda: scaled("unscale_", "unscale_")),
    (E_.UNSCALED_AGAIN, lambda: scaled("step", "unscale_")),
    (E_.SCALER_STEPPED_AGAIN, lambda: scaled("step", "step")),
    (E_.SETUP_CONTEXT_MISSING, lambda: torch.func.vmap(Two.apply)(w(2))),
    (E_.VMAP_RANDOM, lambda: torch.vmap(torch.rand_like)(w(2))),
    (E_.OTHER_DTYPES, lambda: half(torch.ones(2, 2))),
    (E_.OTHER_DTYPES, lambda: mixed(torch.ones(1, 1, 2).double())),
    (E_.OTHER_DTYPES, lambda: torch.ones(2, 2) @ torch.ones(2, 2).double()),
    (E_.OTHER_DTYPES, lambda: torch.nn.functional.layer_norm(torch.ones(2, 2).double(), (2,), w(2), w(2))),
    (E_.OTHER_DTYPES, lambda: torch.nn.GRU(2, 2)(torch.ones(1, 1, 2).double())),
    (E_.SPARSE_GRADIENT, lambda: sparse_step(torch.optim.Adam)),
    (E_.SPARSE_GRADIENT, lambda: sparse_step(torch.optim.AdamW)),
    (E_.SPARSE_GRADIENT, lambda: sparse_step(torch.optim.RMSprop)),
    (E_.SPARSE_GRADIENT, lambda: sparse_step(decayed)),
    (E_.DENSE_GRADIENT, lambda: sparse_step(torch.optim.SparseAdam, sparse=False)),
    (E_.GRADIENT_REFUSED, lambda: setattr(w(2), "grad", torch.ones(2).double())),
    (E_.GRADIENT_REFUSED, lambda: setattr(w(2), "grad", torch.ones(3))),
    (E_.GRADIENT_REFUSED, lambda: setattr(w(2), "grad", torch.ones(2, device="meta"))),
    (E_.DETACH_OF_VIEW, (w(2) * 1)[:1].detach_),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("error", "program"), RAISED, ids=[f"{at}-{error.name}" for at, (error, _) in enumerate(RAISED)]
)
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

"""Engine runs: backward and grad, nested, repeated, with create_graph."""

import contextlib

import torch

from tests.capture.observe import nodes, observe


def test_double_backward():
    """autograd.grad with create_graph and the backward through it are two runs over two graphs."""

    def program():
        x = torch.ones(3, requires_grad=True)
        (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        gradient.sum().backward()

    capture = observe(program)
    first, second = capture.backwards
    assert (first.api, first.create_graph, second.api) == ("grad", True, "backward")
    assert len(capture.graph_of(second).nodes) > len(capture.graph_of(first).nodes)


def test_every_way_to_start_the_engine_is_a_run():
    """Tensor.backward, autograd.backward and autograd.grad, with inputs and retained graphs."""

    def program():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.sum().backward(retain_graph=True)
        torch.autograd.backward([y.sum(), y.mean()], retain_graph=True)
        torch.autograd.grad(y.sum(), [x], retain_graph=True)
        y.sum().backward(inputs=[x])

    runs = observe(program).backwards
    assert [run.api for run in runs] == ["backward", "backward", "grad", "backward"]
    assert [len(run.roots) for run in runs] == [1, 2, 1, 1]
    assert all(len(run.reached) == 1 for run in runs)


def test_what_failed_in_the_engine():
    """A hook's exception is the run's error."""

    def program():
        y = torch.ones(3, requires_grad=True) * 2
        y.register_hook(lambda _: {}["missing"])
        with contextlib.suppress(KeyError):
            y.sum().backward()

    (run,) = observe(program).backwards
    assert run.error == "KeyError: 'missing'"


def test_a_graph_that_no_backward_consumed():
    """What the program still holds at the end is walked once."""
    kept = []
    capture = observe(lambda: kept.append(torch.ones(3, requires_grad=True).exp().sum()))
    assert capture.backwards[0].api == "alive"
    assert nodes(capture) == ["SumBackward0", "ExpBackward0", "AccumulateGrad"]


def test_parameters_that_got_no_gradient():
    """A leaf of the graph whose .grad is still None is told as empty; others are reached."""

    class Silent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    def program():
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        (Silent.apply(a) + b).sum().backward()

    (run,) = observe(program).backwards
    assert len(run.reached) == 2
    assert len(run.empty) == 1


def test_gradients_that_a_hook_uses_and_clears():
    """Where a post-accumulate hook steps, or takes the gradient away, the run has reached the parameter."""
    layer = torch.nn.Linear(3, 1)
    weight, bias = layer.weight, layer.bias
    optimizer = torch.optim.SGD([weight], lr=0.1)
    taken = []

    def step(parameter):
        optimizer.step()
        optimizer.zero_grad()

    def take(parameter):
        taken.append(parameter.grad)
        parameter.grad = None

    weight.register_post_accumulate_grad_hook(step)
    bias.register_post_accumulate_grad_hook(take)
    capture = observe(lambda: layer(torch.ones(2, 3)).sum().backward())
    (run,) = capture.backwards
    assert weight.grad is None
    assert bias.grad is None
    assert len(run.reached) == 2
    assert set(run.taken) == set(run.reached)
    assert [row.reached for row in capture.placement.rows] == [True, True]


def test_ops_of_the_forward_and_their_nodes_meet():
    """Each node knows the op that made it, by sequence number."""

    def program():
        x = torch.ones(2, 2, requires_grad=True)
        (x.exp() @ x).sum().backward()

    capture = observe(program)
    made_by = {
        node.name: capture.ops[node.op].name for node in capture.graph_of(capture.backwards[0]).nodes if node.op >= 0
    }
    assert made_by == {"SumBackward0": "sum", "MmBackward0": "matmul", "ExpBackward0": "exp"}

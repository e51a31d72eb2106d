"""Custom autograd Functions, old style and new."""

import contextlib

import torch
from torch.autograd.function import once_differentiable

from autograd_inspector.model.op import Trait
from tests.capture.observe import names, nodes, observe, op, saved


class Scale(torch.autograd.Function):
    """With setup_context, two outputs of which one is not differentiable."""

    @staticmethod
    def forward(x, factor):
        return x * factor, x > 0

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.factor = inputs[1]
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        assert ctx.saved_tensors[0] is not None
        return grad * ctx.factor, None


class Increment(torch.autograd.Function):
    """In place, once differentiable."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad


def test_apply_is_one_op_and_its_inside_is_marked():
    """The ops of forward are INNER, those of backward BACKWARD; the Function itself joins its inputs to its outputs."""

    def program():
        out, positive = Scale.apply(torch.ones(3, requires_grad=True), 2.0)
        assert not positive.requires_grad
        out.sum().backward()

    capture = observe(program)
    assert names(capture) == ["ones", "mul", "gt", "Scale.apply", "sum", "mul"]
    assert [o.has(Trait.INNER) for o in capture.ops] == [False, True, True, False, False, False]
    apply = op(capture, "Scale.apply")
    assert apply.has(Trait.FUNCTION)
    assert not apply.has(Trait.CUT)
    assert (len(apply.inputs), len(apply.outputs)) == (1, 2)
    assert nodes(capture) == ["SumBackward0", "ScaleBackward", "AccumulateGrad"]
    assert saved(capture)["ScaleBackward.tensors[0]"] == "valid"


def test_a_dirty_input_is_a_write():
    """mark_dirty: the Function's op writes its input. The add_ inside and the mark both move the counter."""

    def program():
        Increment.apply(torch.ones(3, requires_grad=True) * 1).sum().backward()

    (write,) = op(observe(program), "Increment.apply").writes
    assert (write.before, write.after) == (0, 2)


def test_a_saved_tensor_that_was_changed():
    """What a Function saved and the program then changed is told as modified."""

    def program():
        x = torch.ones(3, requires_grad=True) * 1
        out, _ = Scale.apply(x, 2.0)
        x.add_(1)
        with contextlib.suppress(RuntimeError):
            out.sum().backward()

    capture = observe(program)
    assert saved(capture)["ScaleBackward.tensors[0]"] == "modified"
    assert [node.name for node in capture.graph_of(capture.backwards[0]).nodes if node.failed] == ["ScaleBackward"]


def test_a_function_that_cuts():
    """A Function all of whose outputs are not differentiable severs the gradient."""

    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.sign()
            ctx.mark_non_differentiable(out)
            return out

    assert op(observe(lambda: Sign.apply(torch.ones(3, requires_grad=True))), "Sign.apply").has(Trait.CUT)


def test_a_forward_that_raises():
    """What follows the Function is no longer inside it."""

    class Raising(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise ValueError

    def program():
        try:
            Raising.apply(torch.ones(1, requires_grad=True))
        except ValueError:
            torch.ones(1).exp()

    assert not op(observe(program), "exp").has(Trait.INNER)


class Refusing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(7)

    @staticmethod
    def backward(ctx, grad):
        return grad


def test_a_forward_that_raises_is_an_op_with_its_error():
    """As any op is that raised: with its input and its line; what it called before is inside it."""

    def program():
        x = torch.ones(3, requires_grad=True)
        with contextlib.suppress(RuntimeError):
            Refusing.apply(x)
        x.exp()

    capture = observe(program)
    assert names(capture) == ["ones", "view", "Refusing.apply", "exp"]
    whole, inside = op(capture, "Refusing.apply"), op(capture, "view")
    assert whole.error == inside.error
    assert whole.error.startswith("RuntimeError: shape")
    assert (whole.inputs, whole.outputs) == (op(capture, "ones").outputs, ())
    assert whole.has(Trait.FUNCTION)
    assert not whole.has(Trait.CUT)
    assert capture.place(whole.site).source == "Refusing.apply(x)"
    assert not op(capture, "exp").has(Trait.INNER)


class Outer(torch.autograd.Function):
    """Applies another Function in its forward, between ops."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Scale.apply(x * 2, 3.0)[0] + 1

    @staticmethod
    def backward(ctx, grad):
        return grad * 6


def test_the_node_of_a_function_that_applies_another():
    """It is joined to the outer one, although the inner one used a sequence number after it."""

    def program():
        x = torch.ones(3, requires_grad=True)
        (Outer.apply(x * 1) * 5).sum().backward()

    capture = observe(program)
    [node] = [node for node in capture.nodes if node.name == "OuterBackward"]
    assert capture.ops[node.op].name == "Outer.apply"
    assert {other.name: capture.ops[other.op].name for other in capture.nodes if other.op >= 0} == {
        "SumBackward0": "sum", "MulBackward0": "mul", "OuterBackward": "Outer.apply",
    }  # fmt: skip


class Enabled(torch.autograd.Function):
    """Its forward records a graph of its own."""

    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.inner = x.detach().requires_grad_()
            ctx.out = Scale.apply(ctx.inner.exp(), 2.0)[0].sin()
        return ctx.out.detach()

    @staticmethod
    def backward(ctx, grad):
        return torch.autograd.grad(ctx.out, ctx.inner, grad)[0]


def test_nodes_that_a_forward_records_are_its_ops():
    """Each is joined to the op that made it, not to the Function around."""

    def program():
        Enabled.apply(torch.ones(3, requires_grad=True) * 1).sum().backward()

    capture = observe(program)
    made = {node.name: capture.ops[node.op].name for node in capture.nodes if node.op >= 0}
    assert made["SinBackward0"] == "sin"
    assert made["ScaleBackward"] == "Scale.apply"
    assert made["ExpBackward0"] == "exp"
    assert made["EnabledBackward"] == "Enabled.apply"

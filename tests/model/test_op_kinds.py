"""The one table of what torch calls do."""

import torch

from autograd_inspector.analysis.op_kinds import OpKind, is_a, kinds_of, listed, node_is_a


def test_each_call_stands_once():
    """Whoever looks for a call finds all that is known of it in one line."""
    assert len(listed()) == len(set(listed()))


def test_each_call_is_one_of_torchs():
    """A misspelt name would never be met: each is an attribute of torch, of a tensor, or a name of our own."""
    ours = {"set_data", "grad", "unpickle", "data"}
    homes = (torch, torch.Tensor, torch.nn.functional, torch._C._nn)
    assert [n for n in listed() if n not in ours and not any(hasattr(home, n) for home in homes)] == []


def test_a_node_is_what_made_it():
    """Torch's nodes end in a number; a custom Function of the same name is not torch's call."""
    assert node_is_a("RoundBackward0", OpKind.PIECEWISE_CONSTANT)
    assert node_is_a("round", OpKind.PIECEWISE_CONSTANT)
    assert not node_is_a("RoundBackward", OpKind.PIECEWISE_CONSTANT)
    assert node_is_a("BernoulliBackward0", OpKind.DRAWS)


def test_views_are_views():
    """What is said to share its input's memory does, and what is said to copy does not."""
    source = torch.arange(12.0).reshape(3, 4)
    given = {
        "view_as": (source,), "view": (4, 3), "reshape": (4, 3), "unsqueeze": (0,), "select": (0, 1),
        "narrow": (0, 0, 2), "expand_as": (torch.ones(2, 3, 4),),
        "expand": (2, 3, 4), "transpose": (0, 1), "permute": (1, 0),
        "movedim": (0, 1), "moveaxis": (0, 1), "swapaxes": (0, 1), "swapdims": (0, 1), "unfold": (0, 2, 1),
        "as_strided": ((2,), (1,)), "unflatten": (1, (2, 2)), "split": (2,), "chunk": (2,), "tensor_split": (2,),
        "split_with_sizes": ([1, 2],), "hsplit": (2,), "vsplit": (3,), "__getitem__": (0,),
    }  # fmt: skip
    other = {"alias", "dsplit", "imag", "T", "mT", "H", "mH", "data", "real"}
    for name in listed():
        if is_a(name, OpKind.VIEWS) and name not in other:
            made = getattr(source, name)(*given.get(name, ()))
            first = made if isinstance(made, torch.Tensor) else made[0]
            assert first.untyped_storage().data_ptr() == source.untyped_storage().data_ptr(), name
            assert bool(kinds_of(name) & OpKind.SPLITS) == (not isinstance(made, torch.Tensor)), name


def test_steps_have_derivative_zero():
    """Autograd follows what is said to be constant in pieces, and nothing comes back."""
    for name in listed():
        if is_a(name, OpKind.PIECEWISE_CONSTANT) and not name.endswith("_"):
            x = torch.tensor([0.3, 1.7], requires_grad=True)
            getattr(x, name)().sum().backward()
            assert x.grad.tolist() == [0, 0], name


def test_what_needs_no_operand_saves_none():
    """The node of such a call keeps no tensor for backward."""
    x = torch.rand(2, 3, requires_grad=True)
    made = {"add": x + x, "neg": -x, "sum": x.sum(), "mean": x.mean(), "clone": x.clone(), "cat": torch.cat([x, x])}
    for name, result in made.items():
        assert is_a(name, OpKind.SAVES_NOTHING)
        assert not any(attribute.startswith("_raw_saved") for attribute in dir(result.grad_fn)), name


def test_what_is_said_to_save_its_result_does():
    """The derivative of such a call is computed from what it returned."""
    for name in listed():
        if is_a(name, OpKind.SAVES_RESULT) and not name.endswith("_") and name not in {"elu", "celu", "selu"}:
            x = torch.rand(3, requires_grad=True)
            made = getattr(torch, name)(x, 0) if name.endswith("softmax") else getattr(torch, name)(x)
            assert hasattr(made.grad_fn, "_saved_result"), name

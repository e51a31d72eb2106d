"""The one table of what torch calls do."""

import ast
from pathlib import Path

import pytest
import torch
import torch.distributed
from torch.distributed.tensor import _api, _redistribute

import autograd_inspector
from autograd_inspector.analysis import op_kinds
from autograd_inspector.analysis.op_kinds import OpKind, is_a, kinds_of, listed, node_is_a, spelled

HOMES = (
    torch,
    torch.Tensor,
    torch.nn.functional,
    torch.nn.init,
    torch._C._nn,
    torch._C._linalg,
    torch.distributed,
    _api,
    _redistribute,
)
SLOPES = {"thresholdbackward", "leakyrelubackward", "hardtanhbackward"}
"""Of these a table has the nodes alone: no program calls them."""
PACKAGE = Path(autograd_inspector.__file__).parent


def test_each_call_stands_once():
    """Whoever looks for a call finds all that is known of it in one line."""
    assert len(listed()) == len(set(listed()))


def test_each_call_is_one_of_torchs():
    """A misspelt name would never be met: each is an attribute of torch, of a tensor, or a name of our own."""
    ours = {"set_data", "grad", "unpickle", "data", *SLOPES}
    assert [
        n for n in listed() if n not in ours and not any(hasattr(home, n.removesuffix(".apply")) for home in HOMES)
    ] == []


def test_a_node_is_what_made_it():
    """Torch's nodes end in a number; a custom Function of the same name is not torch's call."""
    assert node_is_a("RoundBackward0", OpKind.PIECEWISE_CONSTANT)
    assert node_is_a("round", OpKind.PIECEWISE_CONSTANT)
    assert not node_is_a("RoundBackward", OpKind.PIECEWISE_CONSTANT)
    assert node_is_a("BernoulliBackward0", OpKind.DRAWS)


def test_slopes_of_what_bends_have_derivative_zero():
    """The node of the derivative is known by its name, and passes back zeros to where the derivative was taken."""
    met = set()
    for name in ("relu", "leaky_relu", "relu6", "hardtanh"):
        assert is_a(name, OpKind.BENDS)
        x = torch.tensor([-0.5, 0.5], requires_grad=True)
        (slope,) = torch.autograd.grad(getattr(torch.nn.functional, name)(x).sum(), x, create_graph=True)
        node = slope.grad_fn
        assert node_is_a(node.name(), OpKind.SLOPE_OF_BENDS)
        assert not torch.autograd.grad(slope.sum(), x)[0].any()
        met.add(node.name().partition("Backward")[0].lower() + "backward")
    assert met == SLOPES


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


def names_an_op(word):
    """Whether torch has a function of that name; types, and modules, are none."""
    members = [getattr(home, word, None) for home in HOMES] if word.isidentifier() else []
    return word in listed() or any(callable(member) and not isinstance(member, type) for member in members)


def collections_of_ops(tree):
    """Literals in which most of the words are names of ops: (line, words)."""
    beginnings = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in {"startswith", "endswith"}
        for argument in node.args
    }
    for node in ast.walk(tree):
        held = []
        if isinstance(node, ast.Set | ast.Tuple | ast.List) and id(node) not in beginnings:
            held = node.elts
        elif isinstance(node, ast.Dict):
            held = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.MatchOr):
            held = [pattern.value for pattern in node.patterns if isinstance(pattern, ast.MatchValue)]
        words = [each.value for each in held if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "split":
            words = getattr(getattr(node.func.value, "value", None), "split", list)()
        ops = [word for word in words if names_an_op(word)]
        if len(ops) > 1 and len(ops) * 2 > len(words):
            yield node.lineno, words


@pytest.mark.parametrize("room", ["rules", "advice", "analysis"])
def test_no_other_place_lists_ops(room):
    """What a rule tells apart has a kind in the one table: two lists of the same ops would differ sooner or later."""
    found = {
        f"{path.relative_to(PACKAGE)}:{line}": words
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if path != Path(op_kinds.__file__)
        for line, words in collections_of_ops(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_lists_of_ops_are_found():
    """In every form that they are written in; dtypes, the beginnings of names and other words are none."""
    lists = ('{"add", "mul"}', 'frozenset(["detach", "pow"])', '{"sqrt": 1, "exp": 2}', '"exp log".split()')
    assert all(list(collections_of_ops(ast.parse(text))) for text in lists)
    match = "match name:\n    case 'add' | 'mul':\n        pass"
    assert list(collections_of_ops(ast.parse(match)))
    others = ('{"float16", "float32"}', 'x.startswith(("float", "complex"))', '("sum", "mine", "yours")')
    assert not any(list(collections_of_ops(ast.parse(text))) for text in others)


def test_calls_are_spelled_as_programs_write_them():
    """Methods, attributes and functions; what has no spelling of its own is a function of torch."""
    assert [spelled(name) for name in ("detach", "data", "item", "from_numpy")] == [
        ".detach()",
        ".data",
        ".item()",
        "torch.from_numpy()",
    ]


def test_what_accumulates_depends_on_how_often_it_ran():
    """Done twice, such a call leaves another value than done once."""
    given = {
        "lerp_": (torch.tensor([5.0]), 0.5), "pow_": (2,), "neg_": (), "square_": (),
        "addcmul_": (torch.tensor([2.0]), torch.tensor([3.0])), "addcdiv_": (torch.tensor([2.0]), torch.tensor([3.0])),
        "index_add_": (0, torch.tensor([0]), torch.tensor([1.0])),
    }  # fmt: skip
    for name in listed():
        if is_a(name, OpKind.ACCUMULATES):
            tensor = torch.tensor([3.0])
            once = getattr(tensor, name)(*given.get(name, (2.0,))).clone()
            assert not torch.equal(getattr(tensor, name)(*given.get(name, (2.0,))), once), name


def test_what_is_even_gives_the_same_for_both_signs():
    """Of a power, with an even exponent."""
    x = torch.tensor([1.5, -2.0])
    for name in listed():
        if is_a(name, OpKind.EVEN) and hasattr(torch.Tensor, name):
            arguments = (2,) if "pow" in name else ()
            assert torch.equal(getattr(x.clone(), name)(*arguments), getattr(-x, name)(*arguments)), name

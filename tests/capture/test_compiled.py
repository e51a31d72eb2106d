"""torch.compile: a compiled call is opened into the ops that it was made from, compiled as if nobody looked."""

import contextlib
import subprocess
import sys
import warnings

import pytest
import torch
import torch._dynamo
from torch import nn
from torch._dynamo.utils import counters

import autograd_inspector
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import CompiledCalled
from autograd_inspector.views.encoding import record_of
from tests.capture.observe import names, nodes, observe, op

BACKENDS = ("eager", "aot_eager")


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Each test compiles from scratch."""
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()


def statistics():
    return {name: dict(counters[name]) for name in ("stats", "graph_break", "frames")}


def train(backend):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
    compiled = torch.compile(model, backend=backend)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend=backend)
    def loss_of(out):
        return out.pow(2).mean()

    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_of(compiled(torch.randn(5, 3)))
        loss.backward()
        optimizer.step()
    return [loss.detach(), *[p.detach().clone() for p in model.parameters()], *[b.clone() for b in model.buffers()]]


def train_and_count(backend, context):
    """What training computed; what dynamo counted, and every warning."""
    with warnings.catch_warnings(record=True) as seen, context:
        warnings.simplefilter("always")
        values = train(backend)
    return values, (statistics(), {str(warning.message) for warning in seen})


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_same_bits_graphs_and_breaks(backend):
    """Results are equal, and dynamo compiles exactly as many graphs, with as many breaks, and warns of nothing."""
    plain, expected = train_and_count(backend, contextlib.nullcontext())
    torch._dynamo.reset()
    counters.clear()
    inspected, found = train_and_count(backend, autograd_inspector.inspect())
    assert all(torch.equal(a, b) for a, b in zip(plain, inspected, strict=True))
    assert found == expected


def test_code_compiled_outside_is_not_compiled_again_inside():
    """A region that was compiled before the block runs in it, and after it, without a recompilation."""
    compiled = torch.compile(nn.Linear(3, 1), backend="eager")
    compiled(torch.ones(2, 3))
    before = statistics()
    observe(lambda: compiled(torch.ones(2, 3)))
    compiled(torch.ones(2, 3))
    assert statistics() == before


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_compiled_call_is_opened(backend):
    """Its ops are listed, in the modules that they ran in, between what goes in and what comes out."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    compiled = torch.compile(model, backend=backend)
    capture = observe(lambda: compiled(torch.ones(2, 3)).sum().backward())
    assert [name for name in names(capture) if "compiled" not in name] == ["ones", "linear", "relu", "linear", "sum"]
    assert [call.path for call in capture.calls] == ["_orig_mod", "_orig_mod.0", "_orig_mod.1", "_orig_mod.2"]
    result = [each for each in capture.ops if each.name == "linear"][-1].outputs
    assert op(capture, "sum").inputs == result
    assert len(capture.backwards[0].reached) == 4
    assert capture.notes == ()


def test_the_nodes_of_a_region_lie_behind_the_one_that_autograd_sees():
    """With AOTAutograd the region is one CompiledFunctionBackward, and what it was made from lies behind it."""
    compiled = torch.compile(nn.Linear(3, 1), backend="aot_eager")
    capture = observe(lambda: compiled(torch.ones(2, 3, requires_grad=True)).sin().sum().backward())
    assert nodes(capture)[:4] == ["SumBackward0", "SinBackward0", "CompiledFunctionBackward", "AddmmBackward0"]
    (node,) = [node for node in capture.graph_of(capture.backwards[0]).nodes if node.name == "CompiledFunctionBackward"]
    assert capture.ops[node.op].name == "compiled Linear"


def test_graph_breaks_and_eager_code_around():
    """Code before and after is observed, and so is what was compiled before and after the break."""

    @torch.compile(backend="eager")
    def broken(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return y.cos()

    capture = observe(lambda: broken(torch.ones(2).exp()).tan())
    assert names(capture) == ["ones", "exp", "sin", "cos", "tan"]


def test_an_exception_out_of_compiled_code():
    """It is the error of the op inside that torch refused. The program catches it, and is observed again."""

    @torch.compile(backend="eager")
    def broken(x):
        return torch.mm(x, torch.ones(7, 7))

    def program():
        try:
            broken(torch.ones(2, 3))
        except RuntimeError:
            torch.ones(2).exp()

    capture = observe(program)
    assert names(capture) == ["ones", "ones", "mm", "ones", "exp"]
    assert "reduction dim" in op(capture, "mm").error
    assert capture.notes == ()


BEFORE_IMPORT = """
import sys
import torch

compiled = torch.compile(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()), backend=sys.argv[1])
compiled(torch.ones(2, 3))
import autograd_inspector

with autograd_inspector.inspect() as inspection:
    compiled(torch.ones(2, 3))
print([op.name for op in inspection.report.capture.ops], len(inspection.report.notes))
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_compiled_before_the_import_is_one_op(backend):
    """Nothing of what the backend made is taken for the program's own; one note says so."""
    run = [sys.executable, "-W", "ignore", "-c", BEFORE_IMPORT, backend]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "['ones', 'compiled Sequential'] 1\n"


def test_a_layer_of_torchs_own_that_is_compiled_alone():
    """Dynamo makes no graph of it, also without the inspector: its ops are there, with one note."""
    layer = nn.Linear(3, 3)
    layer.compile(backend="aot_eager")
    capture = observe(lambda: layer(torch.ones(2, 3)))
    assert statistics()["stats"] == {}
    assert names(capture) == ["ones", "linear"]
    (note,) = capture.notes
    assert note.startswith("`Linear.compile()` compiles nothing")


def test_a_number_in_a_list_comes_back_after_a_graph_break():
    """The op that is given the number is known to depend on what left torch by ``.tolist()``."""
    weights, layer = torch.zeros(2, requires_grad=True), nn.Linear(3, 3)

    @torch.compile(backend="aot_eager")
    def mixed(x):
        first, second = weights.softmax(0).mul(0.7).tolist()
        return (first * layer(x) + second * x).sum()

    with autograd_inspector.inspect() as inspection:
        optimizer = torch.optim.SGD([weights, *layer.parameters()], lr=0.1)
        mixed(torch.ones(2, 3)).backward()
        optimizer.step()
    (finding,) = [each for each in inspection.report.findings if each.severity != "info"]
    assert finding.rule == "AG105"
    assert ".tolist()" in finding.message


def test_what_made_dynamo_compile_again_is_told_in_one_sentence():
    """Of a long explanation the first sentence, without numbers of torch's own."""
    model = nn.Sequential(nn.Linear(3, 3))
    with autograd_inspector.inspect() as inspection:
        for backend in BACKENDS:
            torch.compile(model, backend=backend)(torch.ones(2, 3))
    (again,) = inspection.report.capture.events_of(CompiledCalled)[-1].again
    assert again.startswith("torch.compile detected different backend callables (")


FIRST_USE = """
import sys
from torch import compile as made
import torch
import autograd_inspector

assert "torch._dynamo" not in sys.modules
with autograd_inspector.inspect() as inspection:
    made(lambda x: x + 1, backend="eager")(torch.ones(2))
    torch.ones(2).exp()
print([op.name for op in inspection.report.capture.ops])
assert made is torch.compile
"""


def test_torch_compile_by_another_name_and_for_the_first_time():
    """Dynamo is imported in the block, by a call of ``torch.compile`` under a name that the program gave it before."""
    run = [sys.executable, "-W", "ignore", "-c", FIRST_USE]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "['ones', 'add', 'ones', 'exp']\n"


@pytest.mark.parametrize("backend", BACKENDS)
def test_asked_to_run_eagerly_the_block_is_seen_as_it_is_written(backend):
    """Each op has its line, the cut in the compiled function is a finding, and one note says that nothing compiled."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend=backend)
    def loss_of(x):
        return model[2](model[:2](x).detach()).sum()

    with autograd_inspector.inspect(compiled="eager") as inspection:
        loss_of(torch.ones(2, 3)).backward()
        optimizer.step()
    report = inspection.report
    assert names(report.capture) == ["ones", "linear", "relu", "detach", "linear", "sum", "SGD.step"]
    assert [finding.rule for finding in report.findings] == ["AG101"]
    assert sum("uncompiled" in note for note in report.capture.notes) == 1
    assert statistics()["stats"] == {}


def test_afterwards_it_compiles_again():
    """The stance of the compiler is the program's own again once the block has ended."""
    compiled = torch.compile(nn.Linear(3, 1), backend="eager")
    with autograd_inspector.inspect(compiled="eager"):
        compiled(torch.ones(2, 3))
    assert statistics()["stats"].get("unique_graphs", 0) == 0
    compiled(torch.ones(2, 3))
    assert statistics()["stats"]["unique_graphs"] == 1


def test_another_way_to_treat_compiled_code_is_refused():
    """A misspelt option is an error where it is written."""
    with pytest.raises(ValueError, match="neither 'as it is' nor 'eager'"):
        autograd_inspector.inspect(compiled="eagerly")


def test_a_compiled_call_is_counted_and_framed():
    """Its graphs, breaks and recompilations are told, also in the timeline, and its ops lie in a frame."""

    @torch.compile(backend="aot_eager", dynamic=False)
    def broken(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return y.cos()

    def program():
        broken(torch.ones(2))
        broken(torch.ones(3))

    with autograd_inspector.inspect() as inspection:
        program()
    report = inspection.report
    first, last = report.capture.events_of(CompiledCalled)
    assert (first.graphs, len(first.breaks), len(first.again)) == (2, 1, 0)
    assert (last.graphs, len(last.breaks), len(last.again)) == (4, 1, 2)
    assert "test_compiled.py:" in last.breaks[0]
    assert "size mismatch" in last.again[0]
    (note,) = [note for note in report.notes if note.startswith("compiled broken")]
    assert "4 graphs, 1 graph break" in note
    wire = record_of(report)
    assert [wire.strings[kind] for kind in wire.calls.type] == ["compiled broken"] * 2
    framed = {wire.strings[name]: call for name, call in zip(wire.ops.name, wire.ops.call, strict=True)}
    assert framed == {"ones": -1, "sin": 1, "cos": 1}
    assert [wire.strings[api] for api in wire.events.api] == ["compiled broken"] * 2


def test_what_python_makes_between_graphs_comes_from_what_it_was_computed_from():
    """A mask cannot be compiled: its result is traced to the masked tensor, whose encoder gets the gradient."""
    encoder, other, head = nn.Linear(3, 4), nn.Linear(3, 4), nn.Linear(4, 1)

    @torch.compile(backend="aot_eager")
    def loss_of(x):
        h, aside = encoder(x), other(x).sum()
        picked = h[x.sum(1) > 0]
        return head(picked).sum() + 0 * aside

    capture = observe(lambda: loss_of(torch.ones(2, 3)).backward())
    (between,) = [each for each in capture.ops if each.name == "code between compiled graphs"]
    first = next(each for each in capture.ops if each.name == "linear")
    assert between.inputs == first.outputs
    assert len(capture.backwards[0].reached) == 6


def test_the_function_that_goes_on_after_a_break_is_not_its_own_caller():
    """Dynamo calls what comes after a break from what comes before it; the program calls the function once."""

    @torch.compile(backend="aot_eager")
    def broken(x):
        first = x.sin()
        at = int(first.argmax())
        second = x[at].cos()
        rows = second.abs().long().tolist()
        return torch.tanh(second) * len(rows)

    capture = observe(lambda: broken(torch.ones(2, 3, requires_grad=True)[0].expand(2, 3)))
    last = next(each for each in capture.ops if each.name == "tanh")
    own = [place for place in capture.sites[last.site].frames if "broken" in place.function]
    assert len(own) == 1
    assert "torch.tanh" in own[0].source


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_result_that_is_a_view_of_another_calls_result_leads_to_that_call(backend):
    """No region lies inside itself, and the gradient goes through both to the weight."""
    linear = nn.Linear(3, 4)
    hidden = torch.compile(lambda x: linear(x).relu(), backend=backend)
    rows = torch.compile(lambda h: (h[0], h[1] * 2), backend=backend)

    def program():
        first, second = rows(hidden(torch.ones(2, 3)))
        (first.sum() + second.sum()).backward()

    capture = observe(program)
    assert not capture.notes
    assert len(capture.backwards[0].reached) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_new_leaf_after_a_break_comes_from_the_values_that_it_has(backend):
    """``torch.tensor()`` of a result is a copy of it; a leaf of other values is no copy of anything."""
    weight = torch.full((3,), 0.3, requires_grad=True)

    @torch.compile(backend=backend)
    def copied(w):
        return torch.tensor([w.pow(2).sum()], requires_grad=True).sum()

    @torch.compile(backend=backend)
    def fresh(w):
        return w.pow(2).sum() + torch.tensor([2.5, 3.5], requires_grad=True).sum()

    capture = observe(lambda: copied(weight))
    sums = {each.outputs[0] for each in capture.ops if each.name == "sum"}
    (copy,) = [each for each in capture.ops if each.name == "tensor"]
    assert copy.has(Trait.CUT)
    assert set(copy.inputs) <= sums
    assert not [each for each in observe(lambda: fresh(weight)).ops if each.name == "tensor" and each.inputs]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_module_whose_forward_alone_is_compiled_is_called_once(backend):
    """The graphs of its forward, before and after a break, belong to the call that the program made."""

    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)

        @torch.compile(backend=backend)
        def forward(self, x):
            h = self.first(x)
            return self.norm(h) * len(x[:, 0].tolist())

    model = Broken()
    capture = observe(lambda: model(torch.ones(2, 3)))
    assert [(call.type, call.path, call.parent) for call in capture.calls] == [
        ("Broken", "", -1),
        ("Linear", "first", 0),
        ("BatchNorm1d", "norm", 0),
    ]


def test_a_method_that_dynamo_gives_up_uses_the_parameters_of_its_module():
    """One op stands for the call, and its module's parameters are among the inputs of that."""

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(1, 2)

        @torch.compile(backend="aot_eager")
        def forward(self, x):
            return self.lstm(x)[0]

    encoder = Encoder()
    capture = observe(lambda: encoder(torch.ones(3, 1)).sum().backward())
    (call,) = [each for each in capture.ops if each.name.startswith("compiled ")]
    assert call.has(Trait.OPAQUE)
    assert len(call.inputs) == 5


def test_the_op_inside_a_region_that_saved_what_was_modified():
    """The error names the op in the compiled function and its line, as it does uncompiled."""
    weight = torch.ones(3, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        kept = torch.sigmoid(weight)
        loss = squared(kept).sum()
        kept.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            loss.backward()
    (finding,) = [each for each in inspection.report.findings if each.rule == "AG201"]
    assert "saved for backward by" in finding.message
    assert any("t.pow(2)" in place.source for place in finding.locations)


@torch.compile(backend="aot_eager")
def squared(t):
    """A compiled function that saves what it is given."""
    return t.pow(2)


def test_the_op_inside_a_region_whose_backward_makes_nan():
    """With values, the region's backward is looked into: the op and its line are told, not the region."""
    weight = torch.zeros(3, requires_grad=True)

    @torch.compile(backend="aot_eager")
    def length(w):
        return (w * 2).pow(2).sum().sqrt()

    with autograd_inspector.inspect(values=True) as inspection:
        length(weight).backward()
    (finding,) = [each for each in inspection.report.findings if each.rule == "AG304"]
    assert "`sqrt`" in finding.message
    assert any(".sqrt()" in place.source for place in finding.locations)

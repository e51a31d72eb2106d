"""What stands for other lines in captured graphs: untraced functions, exported parts, tensors that leave at a break."""

import pytest
import torch
import torch._dynamo
from torch import nn

from tests.capture.observe import observe, op


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Each test compiles from scratch."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def halved(x):
    return x.detach() / 2


torch.compiler.allow_in_graph(halved)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_function_that_is_allowed_in_the_graph_has_its_own_lines(backend):
    """What it calls is called from its line, and that from the line in the compiled function."""

    @torch.compile(backend=backend, fullgraph=True)
    def loss_of(x):
        return halved(x.sin()).sum()

    capture = observe(lambda: loss_of(torch.ones(3, requires_grad=True)))
    sources = [place.source for place in capture.site(op(capture, "detach").site)]
    assert sources[:2] == ["return x.detach() / 2", "return halved(x.sin()).sum()"]


class Net(nn.Module):
    """A part of it is in another grad mode."""

    def __init__(self, switch):
        super().__init__()
        self.first, self.last, self.switch = nn.Linear(3, 3), nn.Linear(3, 1), switch

    def forward(self, x):
        if self.switch == "block":
            with torch.no_grad():
                h = self.first(x)
        else:
            h = self.under(x)
        return self.last(h)

    @torch.no_grad()
    def under(self, x):
        return self.first(x)


@pytest.mark.parametrize(("switch", "line"), [("block", "with torch.no_grad():"), ("decorator", "h = self.under(x)")])
def test_a_grad_mode_of_an_exported_part_has_its_line(switch, line):
    """The region is the program's own, not torch's that runs the part; export keeps a decorated one's call."""
    exported = torch.export.export(Net(switch), (torch.ones(2, 3),)).module()
    capture = observe(lambda: exported(torch.ones(2, 3)).sum().backward())
    region, last = (capture.regions[each.region] for each in capture.ops if each.name == "linear")
    assert (region.kind, region.library, last.kind) == ("no_grad", "", "enabled")
    assert capture.place(region.site).source == line
    assert [each.kind for each in capture.regions].count("enabled") == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_parameter_that_leaves_at_a_break_beside_the_graph(backend):
    """`.tolist()` is of the parameter, and not of the last result of the graph that was broken by it."""
    weights = nn.Parameter(torch.tensor([0.25, 0.75]))

    @torch.compile(backend=backend)
    def weighed(x):
        total = x.sin().sum()
        for weight in weights.tolist():
            total = total * weight
        return total

    capture = observe(lambda: weighed(torch.ones(3, requires_grad=True)))
    left = op(capture, "tolist")
    assert [capture.tensors[number].kind for number in left.inputs] == ["parameter"]
    assert capture.place(left.site).source == "for weight in weights.tolist():"


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_result_that_leaves_at_a_break_is_the_one_that_dynamo_holds(backend):
    """Also where the graph computed another one after it."""

    @torch.compile(backend=backend)
    def scaled(x):
        scale = x.sin().sum()
        after = x.cos()
        return after * scale.item()

    capture = observe(lambda: scaled(torch.ones(3, requires_grad=True)))
    (left,) = op(capture, "item").inputs
    assert left in op(capture, "sum").outputs

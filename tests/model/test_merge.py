from __future__ import annotations

import contextlib

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import autograd_inspector
from autograd_inspector.model.graph import Graph, GraphEdge, GraphNode


def node(graph: Graph, name: str) -> GraphNode:
    found = [n for n in graph.nodes if n.name == name]
    assert len(found) == 1, f"{len(found)} nodes are called {name}"
    return found[0]


def edges_into(graph: Graph, name: str) -> dict[str, GraphEdge]:
    target = node(graph, name).id
    return {graph.nodes[e.source].name: e for e in graph.edges if e.target == target}


def is_acyclic(graph: Graph) -> bool:
    left = [0] * len(graph.nodes)
    after: dict[int, list[int]] = {}
    for edge in graph.edges:
        left[edge.target] += 1
        after.setdefault(edge.source, []).append(edge.target)
    ready = [n for n, count in enumerate(left) if not count]
    done = 0
    while ready:
        done += 1
        for target in after.get(ready.pop(), ()):
            left[target] -= 1
            if not left[target]:
                ready.append(target)
    return done == len(graph.nodes)


def test_an_op_and_the_autograd_nodes_it_made_are_one_node():
    """A call stands in the graph once, with the grad_fns it made, its module and what backward starts from."""
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    x = torch.ones(4, 3)
    with autograd_inspector.inspect() as inspection:
        net(x).sum().backward()
    graph = inspection.report.graph
    assert node(graph, "linear").grad_fns[0] == "AddmmBackward0"
    assert node(graph, "linear").path == "0"
    assert node(graph, "tanh").path == "1"
    assert node(graph, "sum").root
    assert not node(graph, "tanh").root
    into = edges_into(graph, "linear")
    assert {name: edge.kind for name, edge in into.items() if name in {"net.0.weight", "net.0.bias"}} == {
        "net.0.weight": "gradient",
        "net.0.bias": "gradient",
    }
    assert [e.kind for name, e in into.items() if name not in {"net.0.weight", "net.0.bias"}] == ["data"]


def test_a_detached_value_leaves_a_severed_edge_at_its_line():
    """Of a detach that the loss depends on the graph says the cause, the line, and that it matters."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        h = w * 3
        cut = h.detach()
        (cut * w).sum().backward()
    report = inspection.report
    (edge,) = report.graph.severed
    assert (edge.cause, edge.live) == ("detached", True)
    assert report.graph.nodes[edge.target].name == "detach"
    assert report.capture.place(edge.site).source == "cut = h.detach()"


def test_a_cut_that_feeds_only_a_log_is_not_live():
    """A value detached for logging severs an edge, but not one that the loss depends on."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        loss = (w * 3).sum()
        loss.detach().mul(2).item()
        loss.backward()
    assert [(e.cause, e.live) for e in inspection.report.graph.severed] == [("detached", False)]


def test_under_no_grad_the_site_is_the_line_that_switched_it_off():
    """The severed edge of a no_grad block points at the `with` statement."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        with torch.no_grad():
            h = w * 3
        (h * w).sum().backward()
    report = inspection.report
    (edge,) = report.graph.severed
    assert edge.cause == "no_grad"
    assert report.capture.place(edge.site).source == "with torch.no_grad():"


@pytest.mark.parametrize(
    ("cut", "cause"),
    [
        (lambda h: h.argmax().float(), "non-differentiable"),
        (lambda h: (h > 0).float(), "non-differentiable"),
        (lambda h: torch.tensor(h.sum().item()), "left autograd"),
        (lambda h: torch.from_numpy(h.detach().numpy()), "left autograd"),
        (lambda h: h.data, "detached"),
    ],
    ids=["argmax", "comparison", "item", "numpy", "data"],
)
def test_each_way_to_lose_gradient_has_its_cause(cut, cause):
    """The cause is named after what the program did."""
    w = torch.linspace(0.5, 0.9, 3, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        (cut(w * 3.3) * w).sum().backward()
    assert cause in {e.cause for e in inspection.report.graph.severed if e.live}


def test_a_number_for_the_log_is_no_cut():
    """A value that left torch and never came back lost nobody's gradient: the edge to it carries data."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        loss = (w * 3).sum()
        loss.backward()
        print(loss.item(), loss.detach().numpy())
    graph = inspection.report.graph
    assert {edge.cause for edge in graph.severed} == {"left autograd"}
    assert [edge.kind for edge in edges_into(graph, "item").values()] == ["data"]


def test_the_picture_and_the_finding_give_one_cause():
    """A sample is drawn under a no_grad of torch's own: what cuts is that it is a sample, in the graph and in words."""
    policy = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    with autograd_inspector.inspect() as inspection:
        action = torch.distributions.Normal(policy(torch.ones(2, 3)), 1.0).sample()
        loss = action.pow(2).mean().requires_grad_()
        loss.backward()
        optimizer.step()
    report = inspection.report
    assert {finding.rule for finding in report.findings} == {"AG104"}
    assert {edge.cause for edge in report.graph.severed} == {"non-differentiable"}


def test_a_number_that_may_have_come_back_is_a_cut():
    """Where it was taken out is where gradient was lost: when it was used again, and when the program then failed."""

    def used(loss):
        return loss * loss.item()

    def rewrapped(loss):
        return loss + torch.tensor(loss.item() * 2)

    def failed(loss):
        return 2 * float(loss)

    for way in (used, rewrapped, failed):
        w = torch.ones(2, requires_grad=True)
        inspection = autograd_inspector.inspect()
        with contextlib.suppress(AttributeError), inspection:
            way((w * 3.3).sum()).backward()
        graph = inspection.report.graph
        assert ("left autograd", "__float__" if way is failed else "item") in {
            (edge.cause, graph.nodes[edge.target].name) for edge in graph.severed
        }, way.__name__


def test_inference_mode_is_a_cause_of_its_own():
    """A value computed under inference_mode is severed by it."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        with torch.inference_mode():
            h = (w * 3).sum()
        (w.sum() + h.item()).backward()
    assert "inference_mode" in {e.cause for e in inspection.report.graph.severed}


def test_taking_only_a_shape_severs_nothing():
    """zeros_like(h) passes no value of h on."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        h = w * 3
        (h + torch.zeros_like(h)).sum().backward()
    assert inspection.report.graph.severed == ()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone().mul(2)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 + 0 * x


def test_the_forward_of_a_custom_function_folds_into_one_node():
    """A custom Function is one node; its forward's ops are counted in it and not drawn."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        Doubled.apply(w * 3).sum().backward()
    graph = inspection.report.graph
    function = node(graph, "Doubled")
    assert (function.kind, function.folded, function.grad_fns) == ("function", 2, ("DoubledBackward",))
    assert not [n for n in graph.nodes if n.name == "clone"]
    assert edges_into(graph, "Doubled")["mul"].kind == "gradient"
    assert graph.severed == ()


def test_what_a_custom_forward_hands_on_is_still_made_outside():
    """A call inside a custom forward that returns its input does not make that input."""

    class Contiguous(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.contiguous().mul(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        x = w * 3
        (Contiguous.apply(x).sum() + x.sinh().sum()).backward()
    assert set(edges_into(inspection.report.graph, "sinh")) == {"mul"}


def test_ops_of_a_backward_are_marked_as_such():
    """What a custom backward computes is told apart from the forward."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        Doubled.apply(w + 3).sum().backward()
    graph = inspection.report.graph
    assert {n.name for n in graph.nodes if n.recomputed} == {"mul", "add"}


def test_a_function_that_raises_does_not_swallow_its_neighbours():
    """Ops of a forward that raised stay ops of their own, whatever Function comes next."""

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.sinh()
            raise ValueError("no")

    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        with pytest.raises(ValueError, match="no"):
            Broken.apply(w)
        Doubled.apply(w + 1).sum().backward()
    graph = inspection.report.graph
    assert node(graph, "sinh").kind == "op"
    assert node(graph, "Doubled").folded == 2


def test_training_steps_do_not_run_into_one_another():
    """A step writes parameters, yet the graph of several steps has no cycle and no path through a step."""
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    optimizer = torch.optim.Adam(net.parameters())
    with autograd_inspector.inspect() as inspection:
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.ones(4, 3)).sum().backward()
            optimizer.step()
    graph = inspection.report.graph
    steps = {n.id for n in graph.nodes if n.kind == "step"}
    assert len(steps) == 3
    assert not [e for e in graph.edges if e.source in steps]
    assert is_acyclic(graph)
    assert len([n for n in graph.nodes if n.name == "net.0.weight"]) == 1


def test_an_inplace_error_is_told_at_its_nodes():
    """The node that saved the tensor says both versions; the node where backward failed is marked."""
    w = torch.ones(3, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        h = (w * 2).sigmoid()
        loss = (h * 3).sum()
        h.add_(1.0)
        with pytest.raises(RuntimeError, match="inplace"):
            loss.backward()
    graph = inspection.report.graph
    (saved,) = node(graph, "sigmoid").modified
    assert (saved.name, saved.saved_version, saved.current_version) == ("result", 0, 1)
    assert [n.name for n in graph.nodes if n.failed] == ["sigmoid"]


def test_saved_bytes_count_shared_memory_once():
    """A tensor saved three times costs its memory once; a parameter costs the graph nothing."""
    weight = nn.Parameter(torch.ones(100))
    x = torch.ones(100)
    with autograd_inspector.inspect() as inspection:
        (x * weight + x * weight + (x.view(10, 10) * weight.view(10, 10)).view(100)).sum().backward()
    assert inspection.report.graph.saved_bytes == 400


def test_a_value_written_through_a_view_reaches_whoever_reads_the_base():
    """After `view.mul_()` the base's readers depend on it."""
    with autograd_inspector.inspect() as inspection:
        base = torch.zeros(4)
        base[:2].mul_(5)
        base.exp()
    assert "mul_" in edges_into(inspection.report.graph, "exp")


def test_a_value_written_in_place_carries_gradient_on():
    """A plain tensor that received a tracked value passes its gradient on."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        buffer = torch.zeros(2)
        buffer.add_(w)
        buffer.detach()
    assert [e.cause for e in inspection.report.graph.severed] == ["detached"]


def test_a_graph_that_was_there_before_has_nodes_of_its_own():
    """Autograd nodes that no observed call made are still in the graph, joined by gradient edges."""
    w = torch.ones(2, requires_grad=True)
    loss = F.relu(w).sum()
    with autograd_inspector.inspect() as inspection:
        loss.backward()
    graph = inspection.report.graph
    names = {n.name for n in graph.nodes if n.kind == "autograd"}
    assert names == {"SumBackward0", "ReluBackward0"}
    assert {e.kind for e in graph.edges} == {"gradient"}
    assert node(graph, "SumBackward0").root


def test_beyond_the_walk_the_ops_stand_in():
    """Where autograd's nodes are too deep to be walked, gradient edges follow from the ops."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        h = w * 1
        for _ in range(6_000):
            h = h + 1
        h.sum().backward()
    graph = inspection.report.graph
    assert graph.truncated
    reached, stack = set(), [n.id for n in graph.nodes if n.root]
    sources: dict[int, list[int]] = {}
    for edge in graph.edges:
        if edge.kind == "gradient":
            sources.setdefault(edge.target, []).append(edge.source)
    while stack:
        number = stack.pop()
        reached.add(number)
        stack += [s for s in sources.get(number, ()) if s not in reached]
    assert len(reached) == len(graph.nodes) == 6_003


def test_calls_that_hand_their_input_on_are_left_out():
    """`contiguous()` of a contiguous tensor made nothing, and is no node."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        (w * 2).contiguous().sum().backward()
    assert [n.name for n in inspection.report.graph.nodes if n.kind == "op"] == ["mul", "sum"]


def test_a_gradient_is_named_after_its_parameter():
    """What reads `.grad` starts from a node that says whose gradient it is."""
    net = nn.Linear(2, 1)
    with autograd_inspector.inspect() as inspection:
        net(torch.ones(1, 2)).sum().backward()
        net.weight.grad.norm()
    assert "net.weight.grad" in {n.name for n in inspection.report.graph.nodes if n.kind == "gradient"}

"""Saved tensors: their state is read without running anybody's hook."""

import contextlib

import torch

from tests.capture.observe import names, observe, saved


def test_an_offloading_programs_unpack_hook_runs_only_in_backward():
    """The inspector never calls an unpack hook; the engine calls it once a tensor, as it would anyway."""
    calls = []

    def unpack(packed):
        calls.append("unpack")
        return packed

    def program():
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            loss = torch.ones(3, requires_grad=True).exp().sum()
        calls.append("backward")
        loss.backward()

    capture = observe(program)
    assert calls == ["backward", "unpack"]
    assert saved(capture) == {"ExpBackward0.result": "packed"}


def test_a_list_of_which_some_tensors_have_a_hook():
    """`x[:, [0, 1]]` saves no index for its first dimension, and one for the second: nobody asks for the list."""
    calls = []

    def unpack(packed):
        calls.append("unpack")
        return packed

    x = torch.ones(3, 3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        loss = x.clone()[:, [0, 1]].sum()

    def program():
        calls.append("backward")
        loss.backward()

    capture = observe(program)
    assert calls == ["backward", "unpack"]
    assert saved(capture) == {"IndexBackward0.indices[1]": "packed"}


def test_save_on_cpu_is_packed_too():
    """Torch's own offload hooks are hooks like any other."""

    def program():
        with torch.autograd.graph.save_on_cpu():
            torch.ones(3, requires_grad=True).exp().sum().backward()

    assert saved(observe(program)) == {"ExpBackward0.result": "packed"}


def test_hooks_elsewhere_leave_the_version_check_alone():
    """The in-place error fires as ever: the inspector installs no saved-tensor hook."""
    raised = []

    def program():
        y = torch.ones(3, requires_grad=True).exp()
        y.mul_(2)
        try:
            y.sum().backward()
        except RuntimeError as error:
            raised.append(str(error))

    capture = observe(program)
    assert "is at version 1; expected version 0" in raised[0]
    assert saved(capture)["ExpBackward0.result"] == "modified"
    assert [node.name for node in capture.graph_of(capture.backwards[0]).nodes if node.failed] == ["ExpBackward0"]


def test_a_graph_that_backward_freed_says_so():
    """After backward nothing is left to look at; the second run meets no saved tensor any more."""

    def program():
        loss = torch.ones(3, requires_grad=True).exp().sum()
        loss.backward()
        with contextlib.suppress(RuntimeError):
            loss.backward()

    capture = observe(program)
    assert "second time" in capture.backwards[1].error
    assert saved(capture, 0) == {"ExpBackward0.result": "valid"}
    assert "valid" not in saved(capture, 1).values()


def test_anomaly_mode_is_compatible():
    """Under detect_anomaly the same ops and nodes are seen, and anomaly mode is left as it was."""

    def program():
        torch.ones(3, requires_grad=True).exp().sum().backward()

    def anomalous():
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            program()

    plain, under = observe(program), observe(anomalous)
    assert names(under) == names(plain)
    assert saved(under) == saved(plain)
    assert not torch.is_anomaly_enabled()


def test_autocast_is_told():
    """Ops under autocast carry the trait, and the saved cast copies are seen."""
    from autograd_inspector.model.op import Trait

    def program():
        layer = torch.nn.Linear(3, 3)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = layer(torch.ones(2, 3))
        out.float().sum().backward()

    capture = observe(program)
    assert {op.name: op.has(Trait.AUTOCAST) for op in capture.ops if op.name in {"linear", "sum"}} == {
        "linear": True,
        "sum": False,
    }
    assert "bfloat16" in {item.dtype for node in capture.graph_of(capture.backwards[0]).nodes for item in node.saved}

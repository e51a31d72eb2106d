"""AG415: parameters and tensors of different dtypes, or on different devices, met in one op."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, silent


def body():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def test_a_checkpoint_that_is_assigned():
    """Half of the model gets the checkpoint's own tensors: the load is to blame, not the layer where they meet."""

    def program(assign=True):
        net = body()
        state = {name: value.half() for name, value in body().state_dict().items() if name.startswith("0")}
        net.load_state_dict(state, strict=False, assign=assign)
        x = torch.randn(2, 3)
        net(x.half() if assign else x)

    found = diagnosed(program, "AG415", "net.load_state_dict", "assign=True", "float16", severity="error")
    assert "net.2" in found.message
    silent(lambda: program(assign=False))


def test_a_part_that_is_converted():
    """One layer is converted: the conversion is to blame, by whatever ops the dtype went on."""

    def program(all_of_it=False):
        net = body()
        (net if all_of_it else net[0]).double()
        net[2](net[1](net[0](torch.ones(2, 3, dtype=torch.float64))).reshape(-1, 4))

    diagnosed(program, "AG415", ").double()", "Linear.double()", severity="error")
    silent(lambda: program(all_of_it=True))


def test_data_of_numpy():
    """NumPy's numbers are float64: the line that took them over is told."""

    def program(convert=False):
        table = torch.from_numpy(np.ones((2, 3)))
        rows = table.float() if convert else table * 2
        return body()(rows)

    diagnosed(program, "AG415", "table = torch.from_numpy", "float64", severity="error")
    silent(lambda: program(convert=True))


def test_a_layer_without_memory():
    """A layer that was built on meta: where it was built."""

    def program(device="meta"):
        head = nn.Linear(3, 4, device=device)
        return head(torch.ones(2, 3))

    diagnosed(program, "AG415", "head = nn.Linear", "to_empty", severity="error")
    silent(lambda: program("cpu"))


@contextmanager
def default_dtype_kept():
    before = torch.get_default_dtype()
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def test_a_default_dtype_that_was_changed():
    """What was created without a dtype since then has it from the call that changed the default."""

    def data():
        net = body()
        with default_dtype_kept():
            torch.set_default_dtype(torch.float64)
            rows = torch.linspace(0, 1, 6).reshape(2, 3)  # rows
            net(rows)

    def model():
        rows = torch.ones(2, 3)
        with default_dtype_kept():
            torch.set_default_dtype(torch.float64)
            net = body()
            net(rows)

    for program in (data, model):
        found = diagnosed(
            program, "AG415", "(torch.float64)", "set_default_dtype", "from float32 to float64", severity="error"
        )
        assert found.locations[0].role == "default dtype changed here"


def test_a_default_dtype_that_has_nothing_to_do_with_it():
    """A dtype that was given, or that NumPy's values bring, is not the default's; nor is one after it was set back."""

    def given():
        net = body()
        with default_dtype_kept():
            torch.set_default_dtype(torch.float64)
            net(torch.ones(2, 3, dtype=torch.float64))

    def of_numpy():
        net = body()
        with default_dtype_kept():
            torch.set_default_dtype(torch.float64)
            net(torch.tensor(np.ones((2, 3))))

    def set_back():
        net = body()
        with default_dtype_kept():
            torch.set_default_dtype(torch.float64)
        net(torch.ones(2, 3).double())

    for program in (given, of_numpy, set_back):
        (found,) = alarms(inspected(program))
        assert found.rule == "AG415"
        assert "default dtype" not in found.message


def test_a_default_dtype_that_is_set_back():
    """A metric in double precision, and a model that is double as a whole, are right."""

    def metric():
        net = body()
        rows = torch.ones(2, 3)
        for _ in range(2):
            out = net(rows).detach()
            with default_dtype_kept():
                torch.set_default_dtype(torch.float64)
                (out.double() * torch.linspace(0, 1, 2)[:, None]).sum().item()

    def as_a_whole():
        with default_dtype_kept():
            torch.set_default_dtype(torch.float64)
            body()(torch.ones(2, 3))

    silent(metric, as_a_whole)


def test_tensors_that_no_parameter_takes_part_in():
    """Arithmetic of plain tensors has nothing to do with a model; and what is caught is nobody's fault."""

    def plain():
        return torch.ones(2, 2) @ torch.ones(2, 2).double()

    def caught():
        try:
            return body().double()(torch.ones(2, 3))
        except RuntimeError:
            return None

    assert not alarms(inspected(plain))
    silent(caught)


def test_saved_tensors_that_come_back_in_half():
    """The hook that unpacks them is to blame; one that casts back is not."""

    def program(cast):
        def pack(tensor):
            return tensor if isinstance(tensor, nn.Parameter) else tensor.half()

        def unpack(packed):
            if cast:
                return packed.float()
            return packed  # As it is.

        net = body()
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            loss = net(torch.ones(2, 3)).mean()
        loss.backward()

    diagnosed(
        lambda: program(cast=False), "AG415", "return packed  # As it is.", "unpack()", severity="error", where=program
    )
    silent(lambda: program(cast=True))

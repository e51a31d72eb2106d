"""AG415: parameters and tensors of different dtypes, or on different devices, met in one op."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from .programs import diagnosed, silent


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


def test_tensors_that_no_parameter_takes_part_in():
    """Arithmetic of plain tensors has nothing to do with a model; and what is caught is nobody's fault."""

    def plain():
        return torch.ones(2, 2) @ torch.ones(2, 2).double()

    def caught():
        try:
            return body().double()(torch.ones(2, 3))
        except RuntimeError:
            return None

    from .programs import alarms, inspected

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

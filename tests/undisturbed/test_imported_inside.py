"""A module that is imported inside a block takes functions of torch's as they are: it has them for good."""

from types import ModuleType

import numpy as np
import pytest
import torch
import torch.distributed as dist

from tests.capture.observe import names, observe

pytestmark = pytest.mark.undisturbed

LIBRARY = """
from torch import compile, from_numpy
from torch.nn import Parameter
from torch.utils import swap_tensors
make = Parameter.__new__
try:
    from torch.distributed import all_gather_into_tensor, all_reduce
except ImportError:
    pass
"""


@pytest.fixture
def library():
    """Imported inside a block that is over."""
    module = ModuleType("library")
    observe(lambda: exec(LIBRARY, vars(module)))
    return module


def test_what_is_written_in_python_is_torchs_own(library):
    """Nothing stands in for it, not even inside the block."""
    assert library.compile is torch.compile
    assert library.make is torch.nn.Parameter.__new__
    if dist.is_available():
        assert library.all_reduce is dist.all_reduce
        assert library.all_gather_into_tensor is dist.all_gather_into_tensor


def test_what_is_written_in_c_is_observed_by_whatever_capture_is_open(library):
    """What stands in for it serves them all, and passes the call on where none is open."""
    array = np.ones(2)
    assert torch.equal(library.from_numpy(array), torch.ones(2, dtype=torch.float64))
    for _ in range(2):
        assert names(observe(lambda: library.from_numpy(array))) == ["from_numpy"]
        assert names(observe(lambda: torch.from_numpy(array))) == ["from_numpy"]


def test_there_is_one_for_each_function_and_none_when_nobody_has_it(library):
    """Blocks one after the other do not pile them up."""
    inside = []
    for _ in range(3):
        observe(lambda: inside.append(torch.from_numpy))
    assert all(each is library.from_numpy for each in inside)
    assert type(torch.from_numpy).__name__ == "builtin_function_or_method"


def test_one_that_the_program_saves_and_puts_back(monkeypatch):
    """As patching libraries do: the next block observes it, and no stand-in stands in for a stand-in."""
    saved = []
    observe(lambda: saved.append(torch.from_numpy))
    monkeypatch.setattr(torch, "from_numpy", saved[0])
    again = []

    def program():
        again.append(torch.from_numpy)
        torch.from_numpy(np.ones(2))

    assert names(observe(program)) == ["from_numpy"]
    assert again == saved


@pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed")
def test_a_collective_that_was_imported_before(library):
    """The probe is in the function, not in the name."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        assert names(observe(lambda: library.all_reduce(torch.ones(2)))) == ["ones", "all_reduce"]
        whole = torch.zeros(2)
        assert names(observe(lambda: library.all_gather_into_tensor(whole, torch.ones(2))))[-1] == (
            "all_gather_into_tensor"
        )
    finally:
        dist.destroy_process_group()


def called(module, name):
    return getattr(module, name)()


WRONG = {
    "from_numpy, nothing": lambda: called(torch, "from_numpy"),
    "from_numpy, two": lambda: torch.from_numpy(1, 2),
    "from_numpy, a keyword": lambda: torch.from_numpy(array=np.ones(2)),
    "swap, one": lambda: torch._C._swap_tensor_impl(torch.ones(1)),
    "swap, a keyword": lambda: torch._C._swap_tensor_impl(torch.ones(1), other=torch.ones(1)),
    "Parameter, four": lambda: torch.nn.Parameter(1, 2, 3, 4),
    "all_reduce, nothing": lambda: called(dist, "all_reduce"),
}


def error_of(call):
    with pytest.raises(TypeError) as raised:
        call()
    return str(raised.value)


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_refused_in_torchs_own_words(call):
    """They are passed on as they came."""
    inside = []
    observe(lambda: inside.append(error_of(call)))
    assert inside == [error_of(call)]

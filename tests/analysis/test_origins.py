"""Where values came from, over copies and over files."""

from __future__ import annotations

from msgspec.structs import replace

from autograd_inspector.analysis.memory.came_from import CameFrom
from autograd_inspector.analysis.memory.flat_order import flat_orders
from autograd_inspector.model.event import GradRead, GradWrite

from .written import Written


def pickled(program, *tensors, line):
    """Pickle some tensors; the capture says of none of them what it becomes."""
    for tensor in tensors:
        program.call("__reduce_ex__", tensor, line=line)
        program.ops[-1] = replace(program.ops[-1], outputs=())


def unpickled(program, *shapes, line, last):
    """What comes back; the op names the last tensor of that shape."""
    return [program.call("unpickle", last, shape=shape, line=line) for shape in shapes]


def test_copies_of_copies():
    """Aliases, copies and casts hand values on; an op that computes does not."""
    program = Written()
    w = program.parameter()
    copy = program.call("clone", program.call("detach", w))
    cast = program.call("float", copy)
    doubled = program.call("mul", cast)
    came = CameFrom(program.analysis.capture)
    assert came.storage(cast) == program.tensors[w].storage
    assert came.storage(doubled) == program.tensors[doubled].storage


def test_tensors_of_a_file_in_their_order():
    """What one line pickled comes back in that order, where all shapes agree; else nothing is known."""
    program = Written()
    one, two = program.parameter("one"), program.parameter("two")
    pickled(program, one, two, line=3)
    back = unpickled(program, (4,), (4,), line=5, last=two)
    other = unpickled(program, (4,), line=6, last=two)
    came = CameFrom(program.analysis.capture)
    assert [came.storage(tensor) for tensor in back] == [program.tensors[t].storage for t in (one, two)]
    assert [came.storage(tensor) for tensor in other] == [program.tensors[t].storage for t in other]


def test_files_of_several_models():
    """Two files with the same shapes hold the values of one model, or nobody knows which."""
    for same in (True, False):
        program = Written()
        one, two = program.parameter("one"), program.parameter("two")
        pickled(program, one, line=3)
        program.call("relu", two)
        pickled(program, one if same else two, line=4)
        (back,) = unpickled(program, (4,), line=5, last=two)
        came = CameFrom(program.analysis.capture)
        assert came.storage(back) == program.tensors[one if same else back].storage


def flat(order):
    """Two gradients side by side, of which each parameter gets back a part."""
    program = Written()
    parameters = [program.parameter("a"), program.parameter("b")]
    program.optimizer(*parameters)
    gradients = [program.tensor(), program.tensor()]
    joined = program.call("cat", *gradients, shape=(8,))
    parts = [program.call("__getitem__", joined, shape=(4,)) for _ in order]
    for place, part in zip(order, parts, strict=True):
        program.tensors[part] = replace(program.tensors[part], offset=16 * place)
    program.more["grad_reads"] = tuple(
        GradRead(0, p, g, program.site(), True, False) for p, g in zip(parameters, gradients, strict=True)
    )
    at = len(program.ops)
    program.more["grad_writes"] = tuple(
        GradWrite(at, p, part, program.site(9)) for p, part in zip(parameters, parts, strict=True)
    )
    return program, parameters


def test_parts_of_a_flat_tensor():
    """Each parameter is compared with the stretch that its own gradient has."""
    program, (a, b) = flat((1, 0))
    [found] = flat_orders(program.analysis)
    assert (found.tensor, found.owner, found.wrong) == (a, b, (a, b))
    assert list(flat_orders(flat((0, 1))[0].analysis)) == []

"""What gave two modules the same parameters, and what took a module's place under its name."""

from __future__ import annotations

from autograd_inspector.analysis.modules.sharing import replaced_by_namesake, shared_by
from autograd_inspector.model.program_events import ModelsShared, ModuleCopied, ModuleExchanged, ModuleReattached

from .written import Written


def test_what_shares_parameters():
    """A copy has all of them, a layer in two modules some; two names of one model are no copy."""
    program = Written()
    w, v, u = (program.parameter(name) for name in "wvu")
    layer = ModuleReattached(0, -1, "Net", "body", (w,))
    copied = ModuleCopied(0, -1, "Net", (v, u))
    names = ModelsShared(0, -1, "teacher", 0, 2, (w, v, u), copied=False)
    program.more["events"] = (names, layer, copied)
    capture = program.capture
    assert shared_by(capture, (w, v)) == layer
    assert shared_by(capture, (v, u)) == copied
    assert shared_by(capture, (u,)) == copied
    assert shared_by(program.capture, (program.parameter("x"),)) is None


def test_what_took_the_name_of_a_module():
    """The first exchange that took away the module that has them."""
    program = Written()
    a, b, c = (program.parameter(name) for name in "abc")
    exchanges = (
        ModuleExchanged(0, -1, "Head", "head", ((a,), (b,))),
        ModuleExchanged(0, -1, "Head", "head", ((b,), (c,))),
    )
    program.more["events"] = exchanges
    capture = program.capture
    assert [replaced_by_namesake(capture, each) for each in ((b,), (a, b), (c,))] == [exchanges[1], exchanges[0], None]

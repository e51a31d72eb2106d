"""The right call of the wrong thing: another loss, another optimizer, other parameters."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.effects import CHANGES
from tests.mutation.kinds import Kind

from .constructing import bound, parameters, together

_CLIPS = ("clip_grad_norm_", "clip_grad_value_")


def _another_loss(anatomy: Anatomy) -> Iterator[Planted]:
    """Backward of a scalar that the loss was made of, or of another one that was made before."""
    for call in anatomy.calls("backward", "tensor"):
        assert isinstance(call.func, ast.Attribute)
        receiver = call.func.value
        names = _scalars_before(anatomy, call)
        for name in sorted(names - {anatomy.source(receiver)}):
            yield anatomy.replaced(receiver, name)


def _scalars_before(anatomy: Anatomy, call: ast.Call) -> set[str]:
    """The names of scalars with a graph that statements before this one, in its body, bind."""
    statement = anatomy.alone(call)
    body = anatomy.body(statement) if statement is not None else []
    names = set()
    for each in body:
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if each.lineno < call.lineno:
                fact = anatomy.fact(value)
                if fact.kind == "tensor" and fact.always and fact.scalar and fact.dim == 0:
                    names.add(name)
    return names


def _other_optimizer(method: str) -> Callable[[Anatomy], Iterator[Planted]]:
    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        names = {name for _, name in bound(anatomy)}
        for call in anatomy.calls(method, "optimizer"):
            assert isinstance(call.func, ast.Attribute)
            own = anatomy.source(call.func.value)
            if own in names:
                for name in sorted(names - {own}):
                    yield anatomy.replaced(call.func.value, name)

    return plant


def _clips_another(anatomy: Anatomy) -> Iterator[Planted]:
    """Of two modules that learn, the other one's gradients are clipped; of one, those of a copy."""
    modules = {anatomy.source(call.func.value) for _, call in parameters(anatomy)}  # type: ignore[attr-defined]
    for clip in _CLIPS:
        for call in anatomy.calls(clip):
            for node in ast.walk(call.args[0]):
                match node:
                    case ast.Call(func=ast.Attribute(value=module, attr="parameters")):
                        own = anatomy.source(module)
                        for other in sorted(modules - {own}):
                            yield anatomy.replaced(module, other)
                        yield anatomy.replaced(module, "copy.deepcopy({})")


def _used_up(anatomy: Anatomy) -> Iterator[Planted]:
    """The generator that the optimizer was made of is given to the clipping too, which finds nothing left in it."""
    for made, call in parameters(anatomy):
        given = anatomy.source(call)
        statement = anatomy.statement(made)
        late = [one for clip in _CLIPS for one in anatomy.calls(clip) if together(anatomy, made, one)]
        for one in late if call is made.args[0] else ():
            if anatomy.source(one.args[0]) == given:
                clipped = anatomy.replaced(one.args[0], "trained")
                new = anatomy.replaced(call, "trained").rows[call.lineno - 1]
                line = anatomy.before(statement, f"trained = {given}").rows[statement.lineno - 1]
                at = statement.lineno
                yield Planted(at, (*clipped.rows[: at - 1], line, new, *clipped.rows[at:]))


def _not_stored(anatomy: Anatomy) -> Iterator[Planted]:
    """`autograd.grad` returns the gradients that backward would have stored."""
    for call in anatomy.calls("backward", "tensor"):
        assert isinstance(call.func, ast.Attribute)
        held = _held_behind(anatomy, call)
        if held and not call.args and not call.keywords:
            loss = anatomy.source(call.func.value)
            yield anatomy.replaced(call, f"torch.autograd.grad({loss}, {held}, allow_unused=True)")


def _to_some(anatomy: Anatomy) -> Iterator[Planted]:
    """Backward stops at the inputs that it is given."""
    for call in anatomy.calls("backward", "tensor"):
        held = _held_behind(anatomy, call)
        if held and not call.args and not call.keywords:
            yield anatomy.replaced(call, f"{anatomy.source(call)[:-1]}inputs={held}[:1])")


def _held_behind(anatomy: Anatomy, call: ast.Call) -> str:
    """The parameters of the optimizer that the next step of the same body is of."""
    statement = anatomy.alone(call)
    body = anatomy.body(statement) if statement is not None else []
    steps = [one for one in anatomy.calls("step", "optimizer") if anatomy.alone(one) in body]
    later = [anatomy.source(one.func.value) for one in steps if one.lineno > call.lineno]  # type: ignore[attr-defined]
    return f"{later[0]}.param_groups[0]['params']" if later else ""


KINDS = (
    Kind("backward of another", _another_loss, sound=frozenset({CHANGES})),
    Kind("steps another optimizer", _other_optimizer("step")),
    Kind("clears another optimizer", _other_optimizer("zero_grad")),
    Kind("clips another", _clips_another, always=True),
    Kind("generator used up", _used_up, always=True),
    Kind("gradients not stored", _not_stored),
    Kind("backward to some inputs", _to_some),
)

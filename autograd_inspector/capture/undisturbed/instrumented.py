"""A function of torch's that tells a probe when it begins and ends, in its own frame.

A wrapper would put a frame of ours on the stack for as long as the function runs: the program could recurse less deep,
and would see it in its tracebacks. So the function is compiled anew, with its body between two calls to the probe, and
keeps its object, its file, its lines and its globals. Whoever holds the function is observed as well, and whoever asks
whether it is torch's own (dynamo does) gets the same answer as ever.
"""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import itertools
import linecache
from types import CodeType, FunctionType
from typing import Any, NamedTuple, Protocol, TypeVar


class Probe(Protocol):
    """Told each call of a function. None of the three may raise into the program; an interrupt may strike in each.

    ``seen`` is a list of the call's own, empty at first. What is to be restored is put there before it is changed:
    after an interrupt, in whichever of the three and right behind it, ``failed`` is called (again).
    """

    def before(self, seen: list[Any], /, *args: Any, **kwargs: Any) -> None:
        """A call begins."""

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """The call returned ``result``; this returns it to the caller."""

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """The call raised ``error``. Restores what is to be restored, whether or not that was done."""


def with_probe(function: FunctionType, probe: Probe) -> CodeType | None:
    """The code of a function with calls to a probe around its body; None where its source is not at hand."""
    code = function.__code__
    known = _TEMPLATES.get(id(code))
    if known is None or known.filename != _file_of(function):
        if len(_TEMPLATES) >= _KEPT:
            _TEMPLATES.clear()
        known = _TEMPLATES[id(code)] = _template_of(code, _file_of(function))
    if known.template is None:
        return None
    constants, at = known.template.co_consts, known.probe
    return known.template.replace(co_consts=(*constants[:at], probe, *constants[at + 1 :]))


_PROBE = "autograd_inspector: the probe"
"""Stands in the compiled code where the probe goes."""
_SEEN, _ERROR = "_autograd_inspector_seen", "_autograd_inspector_error"
_FUTURE = functools.reduce(int.__or__, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names))
_PAUSES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_KEPT = 2048
"""Far more than one capture compiles: with fewer, each capture would drop what the next one begins with."""
_Node = TypeVar("_Node", bound=ast.AST)


class _Template(NamedTuple):
    """What a function's code becomes, and which of its constants is the probe's place."""

    code: CodeType
    """The function's own, kept so that its id stays its own."""
    filename: str
    template: CodeType | None
    probe: int


_TEMPLATES: dict[int, _Template] = {}
"""By the id of the function's code: each capture asks for all of them, and code is slow to hash."""


def _template_of(code: CodeType, filename: str) -> _Template:
    template = _made_template(code, filename)
    at = next((at for at, value in enumerate(template.co_consts) if value == _PROBE), -1) if template else -1
    return _Template(code, filename, template if at >= 0 else None, at)


def _file_of(function: FunctionType) -> str:
    """Where its source is. That of a module that Python has frozen into itself is beside the others."""
    filename = function.__code__.co_filename
    written = dict.get(function.__globals__, "__file__") if filename.startswith("<frozen ") else None
    return written if isinstance(written, str) else filename


def _made_template(code: CodeType, filename: str) -> CodeType | None:
    if code.co_flags & _PAUSES:
        return None
    try:
        tree, function = _parsed(filename, code.co_qualname.split(".")[:-1], code.co_firstlineno - 1)
    except (IndexError, SyntaxError):
        return None
    if function is None or _compiled(tree, code) != code:
        return None  # An import hook has been there, or the file is another one by now.
    _put_probe(function)
    return _compiled(tree, code)


def _parsed(filename: str, owners: list[str], first: int) -> tuple[ast.Module, ast.FunctionDef | None]:
    """A function with what its code depends on: the class that it is in, and what the file imports."""
    lines = linecache.getlines(filename)
    classes = [f"{' ' * 4 * depth}class {owner}:\n" for depth, owner in enumerate(owners)]
    above = "\n" * (first - len(owners))  # The parser counts lines faster than ast.increment_lineno() changes them.
    tree = ast.parse("".join([above, *classes, *inspect.getblock(lines[first:])]))
    function: ast.AST = tree.body[0]
    for _ in owners:
        function = function.body[0] if isinstance(function, ast.ClassDef) else function
    tree.body[:0] = _imports(filename)
    return tree, function if isinstance(function, ast.FunctionDef) else None


@functools.lru_cache(maxsize=_KEPT)
def _imports(filename: str) -> tuple[ast.stmt, ...]:
    """The imports of a file: a method of what was imported is called by another instruction than any other is."""
    lines = linecache.getlines(filename)
    head = [*itertools.takewhile(lambda line: not line.startswith(("class ", "def ", "@")), lines)]
    imports = [node for node in ast.walk(ast.parse("".join(head))) if isinstance(node, (ast.Import, ast.ImportFrom))]
    later = [at for at in range(len(head), len(lines)) if lines[at].startswith(("import ", "from "))]
    return (*imports, *itertools.chain.from_iterable(_import_at(lines, at) for at in later))


def _import_at(lines: list[str], at: int) -> list[ast.stmt]:
    """The one that begins in that line; its names may be in brackets."""
    end = next((end for end in range(at, len(lines)) if ")" in lines[end]), at) if "(" in lines[at] else at
    try:
        return ast.parse("".join(lines[at : end + 1])).body
    except SyntaxError:
        return []  # Prose: a docstring's.


def _compiled(tree: ast.Module, like: CodeType) -> CodeType | None:
    """The code of the function in that tree."""
    flags = like.co_flags & _FUTURE
    code: CodeType | None = compile(tree, like.co_filename, "exec", flags=flags, dont_inherit=True)
    for name in like.co_qualname.split("."):
        inner = code.co_consts if code is not None else ()
        code = next((value for value in inner if isinstance(value, CodeType) and value.co_name == name), None)
    return code if code is not None and code.co_freevars == like.co_freevars else None


def _put_probe(function: ast.FunctionDef) -> None:
    """``seen = []``, and in a ``try`` ``PROBE.before(seen, ...)`` and the body, whose results ``PROBE.after`` gets."""
    documented = ast.get_docstring(function, clean=False) is not None
    body = function.body[documented:]
    start, end = body[0], body[-1]
    inside: list[Any] = [_Returns().visit(statement) for statement in body]
    if not isinstance(end, (ast.Return, ast.Raise)):
        inside.append(_result_of(end, ast.Constant(None)))
    failed = ast.Expr(_call("failed", [_loaded(_SEEN), _loaded(_ERROR)]))
    again = ast.ExceptHandler(_loaded("BaseException"), None, [failed, ast.Raise()])
    handler = ast.ExceptHandler(_loaded("BaseException"), _ERROR, [ast.Try([failed], [again], [], []), ast.Raise()])
    values, named = _passed_on(function.args)
    before = ast.Expr(_call("before", [_loaded(_SEEN), *values], named))
    function.body[documented:] = [
        _placed(ast.Assign([ast.Name(_SEEN, ast.Store())], ast.List([], ast.Load())), start),
        _placed(ast.Try([_placed(before, start), *inside], [_placed(handler, end)], [], []), start),
    ]


def _passed_on(parameters: ast.arguments) -> tuple[list[ast.expr], list[ast.keyword]]:
    """The arguments of a function as those of a call that passes all of them on."""
    values: list[ast.expr] = [_loaded(argument.arg) for argument in (*parameters.posonlyargs, *parameters.args)]
    if parameters.vararg is not None:
        values.append(ast.Starred(_loaded(parameters.vararg.arg), ast.Load()))
    named = [ast.keyword(argument.arg, _loaded(argument.arg)) for argument in parameters.kwonlyargs]
    if parameters.kwarg is not None:
        named.append(ast.keyword(None, _loaded(parameters.kwarg.arg)))
    return values, named


class _Returns(ast.NodeTransformer):
    """The results of one function, not of those that are defined in it."""

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Return):
            return _result_of(node, node.value if node.value is not None else ast.Constant(None))
        return node if isinstance(node, _DEFINED) else self.generic_visit(node)


def _result_of(where: ast.stmt, value: ast.expr) -> ast.Return:
    return _placed(ast.Return(_call("after", [_loaded(_SEEN), value])), where)


def _call(method: str, values: list[ast.expr], named: list[ast.keyword] | None = None) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Constant(_PROBE), method, ast.Load()), values, named or [])


def _loaded(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _placed(node: _Node, where: ast.AST) -> _Node:
    """What is new in a tree stands where a statement of it stood. Below a node that has its place all have theirs."""
    if not hasattr(node, "lineno"):
        if "lineno" in node._attributes:
            ast.copy_location(node, where)
        for part in ast.iter_child_nodes(node):
            _placed(part, where)
    return node

"""``%%autograd_inspect`` and ``%autograd_inspect``: the inspector in IPython and Jupyter."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand

from autograd_inspector.api.errors import failure_of
from autograd_inspector.api.report import Report
from autograd_inspector.capture.session import NestedInspectionError
from autograd_inspector.capture.undisturbed.holding import during
from autograd_inspector.frontends.notebook.engines import EngineReports
from autograd_inspector.frontends.notebook.execute import execute
from autograd_inspector.frontends.notebook.header import KeepLines
from autograd_inspector.frontends.notebook.line import picture_of, report_on, without
from autograd_inspector.frontends.notebook.outcome import deliver, tell
from autograd_inspector.frontends.notebook.run import Run
from autograd_inspector.frontends.notebook.watch import Watch
from autograd_inspector.kernel.hub.kernel import connect, disconnect, tell_settings
from autograd_inspector.kernel.options import (
    MAGIC,
    Options,
    mistaken,
    parse,
    parse_header,
    silent,
    usage,
)


@magics_class
class AutogradInspectMagics(Magics):
    """The magic itself; cells with our header on top run without it (see header.py)."""

    shell: InteractiveShell

    def __init__(self, shell: InteractiveShell, watch: Watch) -> None:
        super().__init__(shell)
        self.watch = watch

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def autograd_inspect(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """The line and the cell magic."""
        __tracebackhide__ = True
        options = parse(line) if cell is None else parse_header(line)
        if options.help:
            return tell(usage() if cell is None else f"{usage()}\nThis cell did not run; remove --help to run it.")
        if cell is not None:
            return self._cell(options, cell)
        expression = " ".join(options.words)
        if options.torchviz:
            if not expression:
                raise mistaken("--torchviz needs an expression: %autograd_inspect --torchviz loss")
            return picture_of(self._evaluate(expression, local_ns), self._named(options), self.shell.user_ns)
        if expression in {"on", "off"}:
            return self._switch(options, on=expression == "on")
        if not expression:
            return tell(usage())
        return self._line(options, expression, local_ns)

    def _switch(self, options: Options, *, on: bool) -> None:
        if on:
            self.watch.begin(options)
            said = "every cell is inspected from now on; stop with `%autograd_inspect off`"
        else:
            self.watch.stop()
            said = "cells are no longer inspected"
        tell_settings()
        tell(f"autograd_inspector: {said}")

    def _cell(self, options: Options, body: str) -> None:
        """A body that another magic or a program hands us."""
        __tracebackhide__ = True
        watch = self.watch
        count = watch.count if watch.busy() else int(self.shell.execution_count)
        try:
            run = Run(self.shell, options, watch.frame, held=during(sys._getframe()))  # noqa: SLF001
        except NestedInspectionError as error:
            twice = f"{MAGIC}: this cell is already inspected: remove one of the two %%{MAGIC}"
            raise UsageError(twice if watch.inspecting else str(error)) from None
        try:
            execute(self.shell, body, watch.raw_cell, count)
        except BaseException as error:
            deliver(self.shell, run.report(error), options)
            raise
        report = run.report(None)
        deliver(self.shell, report, options)
        failure = failure_of(report, options.fail_on)
        if failure is not None:
            raise failure

    def _line(self, options: Options, expression: str, local_ns: dict[str, Any] | None) -> Report | None:
        __tracebackhide__ = True
        value = self._evaluate(expression, local_ns)
        if not isinstance(value, Report):
            value = report_on(value, expression, self._named(options), self.shell.user_ns)
        report = without(value, options)
        # IPython displays the value of a magic, or assigns it: `report = %autograd_inspect loss`.
        deliver(self.shell, report, silent(options))
        failure = failure_of(report, options.fail_on)
        if failure is not None:
            raise failure
        return None if options.quiet else report

    def _evaluate(self, expression: str, local_ns: dict[str, Any] | None) -> Any:
        __tracebackhide__ = True
        try:
            code = compile(expression, "<autograd_inspect>", "eval")
        except (SyntaxError, ValueError):
            raise mistaken(f"{expression!r} is neither `on`, `off` nor an expression") from None
        names = self.shell.user_ns if local_ns is None else local_ns
        with self.shell.builtin_trap:
            try:
                return eval(code, self.shell.user_global_ns, names)  # noqa: S307 - the user's own expression
            except NameError as error:
                if error.name == expression.partition(".")[0]:
                    raise mistaken(f"no variable is named {error.name!r}") from None
                raise

    def _named(self, options: Options) -> list[Any]:
        """The models and optimizers that the options name."""
        __tracebackhide__ = True
        return [self._evaluate(name, None) for name in (*options.models, *options.optimizers)]


# What `%autograd_inspect?` shows.
AutogradInspectMagics.autograd_inspect.__doc__ = usage()

_LOADED: dict[int, tuple[Watch, KeepLines, EngineReports]] = {}
"""What was installed into which shell, to be taken away again."""


def load_ipython_extension(shell: InteractiveShell) -> None:
    """``%load_ext autograd_inspector``."""
    if id(shell) in _LOADED:
        return
    watch, engines = Watch(shell), EngineReports(shell)
    lines = KeepLines(watch.busy)
    shell.register_magics(AutogradInspectMagics(shell, watch))
    shell.input_transformers_cleanup.insert(0, lines)
    shell.events.register("pre_run_cell", watch.before)
    shell.events.register("post_run_cell", watch.after)
    shell.events.register("pre_run_cell", engines.before)
    shell.events.register("post_run_cell", engines.flush)
    _LOADED[id(shell)] = watch, lines, engines
    connect(watch)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """``%unload_ext autograd_inspector``."""
    installed = _LOADED.pop(id(shell), None)
    if installed is None:
        return
    watch, lines, engines = installed
    disconnect()
    watch.close()
    engines.close()
    shell.input_transformers_cleanup.remove(lines)
    shell.events.unregister("pre_run_cell", watch.before)
    shell.events.unregister("post_run_cell", watch.after)
    shell.events.unregister("pre_run_cell", engines.before)
    shell.events.unregister("post_run_cell", engines.flush)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(MAGIC, None)

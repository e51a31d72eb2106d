"""The programs that faults are planted into; none of them has one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from .documented import documented
from .sliced import sliced

FOLDER = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Program:
    """A module with a function ``run()``."""

    name: str
    written: Callable[[], str] = field(repr=False)

    @cached_property
    def text(self) -> str:
        """Its text, one statement a line."""
        return self.written()


def _part(name: str, module: str, expression: str = "run()", inlined: Sequence[str] = ()) -> Program:
    """What an expression of a module does."""
    return Program(name, partial(sliced, module, expression, tuple(inlined)))


def _written() -> list[Program]:
    """Those in the folder; what they ask to be inlined stands at their top."""
    programs = []
    for path in sorted(FOLDER.glob("*.py")):
        inlined = re.findall(r"^# inlined: (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        programs.append(_part(path.stem, f"tests.mutation.programs.{path.stem}", inlined=inlined))
    return programs


def _soaked(module: str, *names: str) -> list[Program]:
    return [_part(f"soak-{name}", f"tests.soak.{module}", f"{name}()") for name in names]


def _stories() -> list[Program]:
    told = {
        "plain-gpt": ("gpt_loop", "train_converted_leaves()"),
        "gpt-with-decay": ("gpt_loop", "train_with_decay(shrink_in_place)"),
        "gpt-head-first": ("gpt_loop", "renew_head_first(adamw)"),
        "gpt-own-adam": ("gpt_loop", "renew_head_first(Adam)"),
        "lightning-t5": ("lightning_t5", "fit(TwoLosses)"),
        "lightning-probe": ("lightning_t5", "fit(LinearProbe)"),
        "resumed": ("resume_gpt", "resumed_run(load_as_saved)"),
        "resumed-in-double": ("resume_gpt", "resumed_run(convert_then_load, momentum)"),
        "schedule-free": ("schedule_free", "train_and_measure()"),
        "schedule-free-sgd": ("schedule_free", "log_before_step(sgd)"),
    }
    inlined = ("llms_from_scratch.ch03", "llms_from_scratch.ch04")
    return [
        _part(f"story-{name}", f"tests.stories.{module}", expression, inlined if module == "resume_gpt" else ())
        for name, (module, expression) in told.items()
    ]


def _documented(*names: str) -> list[Program]:
    return [Program(f"doc-{name}", partial(documented, f"torch.nn.{name}")) for name in names]


PROGRAMS = {
    program.name: program
    for program in (
        *_written(),
        *_stories(),
        *_documented("CrossEntropyLoss", "CTCLoss", "TripletMarginLoss", "GaussianNLLLoss"),
        *_soaked("test_agents", "soft_actor_critic", "proximal_policy_optimisation", "momentum_contrast"),
        *_soaked("test_generative", "wasserstein_with_gradient_penalty", "vector_quantised_autoencoder"),
        *_soaked("test_loops", "checkpointed_both_ways", "graph_network", "truncated_recurrence", "averaged_weights"),
    )
}

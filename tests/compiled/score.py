"""Run the programs of this folder, one process each, and score what the report says of them.

python -m tests.compiled.score [-v] [--backend NAME] [--eager] [NAME ...]
"""

import argparse
import contextlib
import importlib
import io
import os
import pickle
import warnings
from pathlib import Path

from tests.practice.score import told

PROGRAMS = Path(__file__).parent / "programs"
NOT_YET = {
    "chunked_lm_loss": "found located first named",  # Results that a forward of a Function rebinds are not looked at.
    "ct_metadata": "located first named",  # `_make_subclass` is no function that a mode sees: only its result is.
    "dann_exported": "found located first named",  # Where a number in an export came from is not known.
    "ddpm_average": "named",  # Nothing is known of a method that did not run.
    "decoder_mask_transposed": "found located first named",  # Which way time runs is nowhere to be seen.
    "eager_apply_hook": "found located first named",  # An info: each micro-batch may be meant to step, at a lower rate.
    "fake_quant": "named",  # Each layer has a finding of its own.
    "fedavg_functional": "found located first named",  # Who trains copies may keep their statistics to themselves.
    "fgsm_gradients_left_over": "found located first named",  # An info: the clean loss may be meant, too.
    "fourbit_keywords": "found located first named",  # An info: a step may be longer than the grid is wide.
    "grpo_adapters": "named",  # Nothing is known of a method that did not run.
    "layerwise_rates": "found located first named",  # A rate that is a tensor may be shared on purpose.
    "long_tail_prior": "located first named",  # Which function Dynamo was told to take for a constant is not known.
    "maml_inner": "found located first named",  # Whether a step of the program's own is to be undone is not known.
    "mixer_ported": "named",  # In which order names were sorted is not seen, only that they were given in another one.
    "padded_frames": "found located first named",  # Values written past autograd may be a straight-through estimator.
    "partial_rate": "found located first named",  # Which number a tensor that nobody reads was to replace is not known.
    "residual_relu": "found located first named",  # Who reads a tensor behind an in-place op may mean its result.
    "route_by_score": "found located first named",  # Dynamo's own error says it all, and it is none of a gradient.
    "sac_temperature_in_actor_loss": "found located first named",  # Weights of losses do learn by them.
    "scaled_swish": "found located first named",  # A wrong formula in a backward takes a numerical derivative to see.
    "selective_ssm": "found located first named",  # A wrong formula takes another one to see.
    "spring_potential": "found located first named",  # Without a step or a backward there are no rounds to tell apart.
    "vae_beta_warmup": "found located first named",  # Guards that Dynamo was told to skip are not looked at.
    "validate_every": "named",  # The layers are named, not their running statistics.
    "wave_fused_norm": "found located first named",  # What a kernel of NumPy writes, undeclared, is not seen.
    "wide_deep_warmup": "found located first named",  # A batch of zeros may be data.
}
"""Programs with a TRUTH -> the aims that are missed, as `tests.practice.score` calls them."""


def names():
    return sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "__init__")


def score(name, *, compiled="as it is"):
    """What is wrong with what the report says of a program; "" where nothing is. And all findings, in a line each."""
    import autograd_inspector

    program = importlib.import_module(f"tests.compiled.programs.{name}")
    error = None
    getattr(program, "setup", lambda: None)()
    try:
        values = getattr(program, "VALUES", False) or ("TRUTH" in vars(program) and program.TRUTH.values)
        with autograd_inspector.inspect(values=values, compiled=compiled) as inspection:
            program.run()
    except Exception as raised:
        error = raised
    report = inspection.report
    path = str(PROGRAMS / f"{name}.py")
    said = [
        f"{f.rule} {f.severity} {f.message} @{[loc.lineno for loc in f.locations if loc.filename == path]}"
        for f in report.findings
    ]
    said += [f"note: {note}" for note in report.capture.notes]
    return judged(program, path, report, error), said


def judged(program, path, report, error):
    if "TRUTH" in vars(program):
        return _judged_by_truth(program, path, report, error)
    wanted = getattr(program, "RAISES", "")
    if (error is None) is bool(wanted) or (error is not None and wanted not in str(error)):
        return f"ended with {error!r}"
    loud = [finding for finding in report.findings if finding.severity != "info"]
    if getattr(program, "HEALTHY", False):
        return f"told of a healthy program: {[f.rule for f in loud]}" if loud else ""
    mine = [finding for finding in loud if finding.rule in program.RULES.split()]
    if not mine:
        return f"missed; told {[finding.rule for finding in loud]}"
    causes = {at for at, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1) if line.endswith("# cause")}
    if causes and not any(causes & {loc.lineno for loc in f.locations if loc.filename == path} for f in mine):
        return "found on other lines"
    told = ["\n".join([f.message, f.fix or "", *f.subjects, *[loc.source or "" for loc in f.locations]]) for f in mine]
    if not any(all(name in text for name in program.NAMES) for text in told):
        return "found without its names"
    return "" if len([f for f in loud if f not in mine]) <= 1 else f"drowned: {[f.rule for f in loud]}"


def _judged_by_truth(program, path, report, error):
    """By the aims of `tests.practice.score`."""
    wanted = program.TRUTH.raises
    if (error is None) is bool(wanted) or not str(error).startswith(wanted or "None"):
        return f"ended with {error!r}"
    reached = told(Path(path), program.TRUTH, report)
    missed, expected = (
        {aim for aim, yes in reached.items() if not yes},
        {*NOT_YET.get(program.__name__.split(".")[-1], "").split()},
    )
    wrong = [*sorted(missed - expected), *(f"{aim}, which was not to be expected" for aim in sorted(expected - missed))]
    return f"misses {', '.join(wrong)}" if missed - expected else f"reaches {', '.join(wrong)}" if wrong else ""


def in_child(name, backend, compiled):
    """The score from a process of its own, which compiles from scratch."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.environ["AUTOGRAD_INSPECTOR_BACKEND"] = backend
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                answer = score(name, compiled=compiled)
        except BaseException as failure:
            import traceback

            answer = f"the score failed: {failure!r}", [traceback.format_exc()]
        with os.fdopen(write, "wb") as file:
            pickle.dump(answer, file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else ("the process died", [])


def _warm():
    """Import what all programs need, once for all forks. Threads of a pool are not there in a fork."""
    import torch
    import torch._dynamo
    import torch._functorch.aot_autograd

    import autograd_inspector

    torch.set_num_threads(1)
    with autograd_inspector.inspect() as inspection:
        torch.ones(1, requires_grad=True).sum().backward()
    inspection.report.to_text()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("-v", action="store_true")
    parser.add_argument("--backend", default="aot_eager")
    parser.add_argument("--eager", action="store_true")
    options = parser.parse_args()
    _warm()
    chosen = [name for name in names() if not options.names or any(part in name for part in options.names)]
    passed = 0
    for name in chosen:
        wrong, said = in_child(name, options.backend, "eager" if options.eager else "as it is")
        passed += not wrong
        if wrong or options.v:
            print("FAIL" if wrong else "pass", name, wrong, flush=True)
            for line in said:
                print("    ", line)
    print(f"{passed}/{len(chosen)}")


if __name__ == "__main__":
    main()

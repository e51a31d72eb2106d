"""AG411: a model that was put into eval mode to be looked at, and is trained like that."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.modes import in_training_mode
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.loaded_in_eval import LoadedInEval, loaded_in_eval
from autograd_inspector.analysis.modules.training_modes import TrainedInEval, trained_in_eval
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.wording import agree, join_names
from autograd_inspector.rules.ag411_training_mode.dropouts import dropouts
from autograd_inspector.rules.ag411_training_mode.eval_not_called import eval_not_called
from autograd_inspector.rules.ag411_training_mode.not_passed_on import not_passed_on
from autograd_inspector.rules.ag411_training_mode.same_numbers import same_numbers
from autograd_inspector.rules.ag411_training_mode.teacher_in_train_mode import untrained
from autograd_inspector.rules.ag411_training_mode.updates_in_eval import updates_in_eval

_NAMED = 3


def check(analysis: Analysis) -> Iterator[Problem]:
    """A model trains in eval mode, a teacher or an evaluation runs in train mode, or a forward ignores the mode.

    Why it matters
        In eval mode, dropout drops nothing, and batch norm uses its running statistics without updating them. Training
        continues silently: it overfits, or normalizes with outdated statistics. In train mode, the outputs of a teacher
        are noisy, and the statistics of a frozen part drift away from its weights: neither no_grad() nor
        requires_grad_(False) changes the mode, and `model.train()` puts every submodule into train mode. `F.dropout(x)`
        ignores the mode: it also drops values during evaluation, and an average that forward updates in each call takes in
        the evaluation data. An nn.Dropout in eval mode does not sample predictions. And a seed that is set in each iteration
        makes dropouts drop the same values in all of them.

    Example
        ::

            model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for epoch in range(2):
                optimizer.zero_grad()
                model(x).pow(2).mean().backward()
                optimizer.step()
                model.eval()
                with torch.no_grad():
                    print(model(x).pow(2).mean())

    Fix
        ::

            model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for epoch in range(2):
                model.train()
                optimizer.zero_grad()
                model(x).pow(2).mean().backward()
                optimizer.step()
                model.eval()
                with torch.no_grad():
                    print(model(x).pow(2).mean())

    References
        torch.nn.Module.train; "Autograd mechanics", section "Evaluation Mode (nn.Module.eval())".
    """
    for found in trained_in_eval(analysis):
        yield _problem(analysis, found)
    for loaded in loaded_in_eval(analysis):
        yield _loaded(analysis, loaded)
    yield from untrained(analysis)
    yield from eval_not_called(analysis)
    yield from not_passed_on(analysis)
    yield from dropouts(analysis)
    yield from updates_in_eval(analysis)
    yield from same_numbers(analysis)


def _problem(analysis: Analysis, found: TrainedInEval) -> Problem:
    capture, switch = analysis.capture, found.switch
    name = capture.display_names.layer(ModuleCall(-1, switch.path, switch.type, switch.model))
    layers = list(dict.fromkeys(capture.display_names.layer(call) for call in found.otherwise))
    optimizer = capture.placement.optimizers[found.step.optimizer].type
    return Problem(
        "warning",
        f"{optimizer}.step() trains {name} in eval mode: {switch.api} came before an evaluation, and train() was not "
        f"called after it; {join_names(layers, _NAMED)} {agree(layers, 'behaves', 'behave')} as in evaluation",
        f"Call {name}.train() after the evaluation, before training continues. Or restore the previous mode: "
        f"`was_training = {name}.training` before `{name}.eval()`, `{name}.train(was_training)` after the evaluation.",
        analysis.places(
            (switch, "put into eval mode here"),
            (found.looked, "evaluated here"),
            (found.last, "left in eval mode here"),
            (found.call, "trained in eval mode here"),
            (found.step, "step() called here"),
        ),
        (name, switch.api, *layers[:_NAMED]),
        ops=(found.step.op,),
        cures=tuple(in_training_mode(analysis, found.switch.site, found.call.site)),
    )


def _loaded(analysis: Analysis, found: LoadedInEval) -> Problem:
    capture, switch = analysis.capture, found.switch
    name = capture.display_names.layer(ModuleCall(-1, switch.path, switch.type, switch.model))
    around = capture.display_names.layer(found.around)
    layers = list(dict.fromkeys(capture.display_names.layer(call) for call in found.otherwise))
    optimizer = capture.placement.optimizers[found.step.optimizer].type
    return Problem(
        "warning",
        f"{optimizer}.step() trains {name} in eval mode, although {around} is in train mode: the library that made it called "
        f"{switch.api}, and train() was not called after it; {join_names(layers, _NAMED)} "
        f"{agree(layers, 'behaves', 'behave')} as in evaluation",
        f"Call {name}.train() before training begins.",
        analysis.places(
            (switch, "put into eval mode here"),
            (found.otherwise[0], "trained in eval mode here"),
            (found.step, "step() called here"),
        ),
        (name, switch.api, *layers[:_NAMED]),
        ops=(found.step.op,),
    )

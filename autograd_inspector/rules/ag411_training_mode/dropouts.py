"""AG411: dropouts that drop values in eval mode, and those that drop nothing where samples are wanted or in training."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on, callee
from autograd_inspector.analysis.modules.equal_samples import EqualSamples, equal_samples
from autograd_inspector.analysis.modules.exported_in_eval import ExportedInEval, exported_in_eval
from autograd_inspector.analysis.modules.masked_ratios import MaskedRatio, masked_ratios
from autograd_inspector.analysis.modules.moving_samples import MovingSamples, moving_samples
from autograd_inspector.analysis.modules.untold_dropouts import UntoldDropout, untold_dropouts
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.remedy import Insert, Remedies, SetArgument
from autograd_inspector.model.wording import agree, join_names

_NAMED = 3


def dropouts(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that calls the dropout, or the module whose results are samples; of each exported model."""
    for untold in untold_dropouts(analysis):
        yield _untold(analysis, untold)
    for samples in equal_samples(analysis):
        yield _equal(analysis, samples)
    for moving in moving_samples(analysis):
        yield _moving(analysis, moving)
    for ratio in masked_ratios(analysis):
        yield _ratio(analysis, ratio)
    for exported in exported_in_eval(analysis):
        yield _exported(analysis, exported)


def _untold(analysis: Analysis, found: UntoldDropout) -> Problem:
    name = analysis.capture.display_names.layer(found.call)
    argument, value = "dropout_p", "{} if self.training else 0.0"
    if "dropout" in found.op.name:
        argument, value = "training", "self.training"
        why = "the call does not pass `training`, which is True by default"
        fix = (
            "Pass the mode of the module: `training=self.training`, or use an nn.Dropout module. To drop values in eval mode "
            "too, write `training=True`."
        )
    else:
        why = "it ignores the mode and always applies `dropout_p`"
        fix = "Pass `dropout_p=p if self.training else 0.0`."
    return Problem(
        "warning",
        f"`{found.op.name}` drops values although {name} is in eval mode: {why}",
        fix,
        analysis.places((found.op, "drops values here"), (found.call, "called in eval mode here")),
        (name, found.op.name),
        ops=(found.op.index,),
        cures=tuple(
            (SetArgument(place, found.op.name, argument, value),)
            for place in analysis.user_frames(found.op.site, "")[:1]
        ),
    )


def _exported(analysis: Analysis, found: ExportedInEval) -> Problem:
    name, switch = analysis.capture.display_names.layer(found.call), found.switch
    module = "the module" if switch is None else called_on(analysis.capture.place(switch.site), "eval") or switch.type
    return Problem(
        "info",
        f"`{found.op.name}` of {name} acts as in evaluation while {name} is trained: it was exported in eval mode, and its "
        "graph does the same in train mode",
        f"Put {module} into train mode before it is exported: `{module}.train()`."
        if switch is not None
        else "Put the module into train mode before it is exported.",
        analysis.places(
            (switch, "put into eval mode here, before it is exported"), (found.op, "acts as in evaluation here")
        ),
        (name, found.op.name),
        ops=(found.op.index,),
    )


def _equal(analysis: Analysis, found: EqualSamples) -> Problem:
    names = analysis.capture.display_names
    first = found.calls[0]
    name = names.layer(first)
    layers = list(dict.fromkeys(names.layer(call) for call in found.silent))
    return Problem(
        "warning",
        f"the results of {name} that `{found.together.name}` combines are all equal: {name} is in eval mode, in which "
        f"{join_names(layers, _NAMED)} {agree(layers, 'drops', 'drop')} nothing, and gets the same input each time",
        f"To draw samples with dropout, put {join_names(layers, _NAMED)} back into train mode after {name}.eval(): "
        f"`for m in {name}.modules(): if isinstance(m, nn.Dropout): m.train()`. Otherwise, one call is enough.",
        analysis.places((first, "called in eval mode here"), (found.together, "combined here")),
        (name, *layers[:_NAMED]),
        ops=(found.together.index,),
        cures=tuple(_sampling(analysis, first)),
    )


def _moving(analysis: Analysis, found: MovingSamples) -> Problem:
    names = analysis.capture.display_names
    first = found.calls[0]
    name = names.layer(first)
    dropping, counting = (
        list(dict.fromkeys(names.layer(call) for call in calls)) for calls in (found.dropping, found.counting)
    )
    normalizes = agree(
        counting,
        "normalizes with the statistics of the batch and updates its",
        "normalize with the statistics of the batch and update their",
    )
    return Problem(
        "warning",
        f"{name} is called several times with the same input, in train mode and without gradients, to draw samples with "
        f"{join_names(dropping, _NAMED)}: {join_names(counting, _NAMED)} also {normalizes} running statistics",
        f"Put only the dropouts into train mode: `{name}.eval()`, and then `for m in {name}.modules(): if isinstance(m, "
        "nn.Dropout): m.train()`.",
        analysis.places(
            *((switch, "put into train mode here") for switch in found.switches),
            (first, "called in train mode here"),
            (found.together, "combined here"),
        ),
        (name, *dropping[:_NAMED], *counting[:_NAMED], "train"),
        ops=(found.together.index,),
        cures=tuple(_sampling(analysis, first, evaluated=True)),
    )


def _ratio(analysis: Analysis, found: MaskedRatio) -> Problem:
    names = analysis.capture.display_names
    name, dropping = names.layer(found.new), [names.layer(call) for call in found.dropping]
    places = [place for call in (found.old, found.new) for place in analysis.user_frames(call.site, "")[:1]]
    inserts = tuple(Insert(place, f"{callee(place)}.eval()") for place in places if callee(place))
    return Problem(
        "warning",
        f"`{found.op.name}` computes a ratio of probabilities from two calls of {name} in train mode: "
        f"{join_names(dropping, _NAMED)} {agree(dropping, 'drops', 'drop')} other values in each, so the ratio differs from 1 "
        "before any step changes the weights",
        f"Call {name}.eval() before both calls: gradients are recorded in eval mode too. Or train without dropout.",
        analysis.places(
            *((switch, "put into train mode here") for switch in found.switches),
            (found.old, "old probabilities computed here"),
            (found.new, "new probabilities computed here"),
            (found.op, "compared here"),
        ),
        (name, *dropping[:_NAMED], "dropout"),
        ops=(found.op.index,),
        cures=(inserts,) if len(inserts) == len(places) else (),
    )


def _sampling(analysis: Analysis, call: ModuleCall, *, evaluated: bool = False) -> Iterator[Remedies]:
    """Its dropouts are in train mode right before it is called; ``evaluated``: all else of it is in eval mode."""
    for place in analysis.user_frames(call.site, ""):
        called = callee(place)
        if called:
            text = f"{called}.eval()\n" if evaluated else ""
            text += f"for m in {called}.modules():\n    if isinstance(m, nn.Dropout):\n        m.train()"
            yield (Insert(place, text),)
            yield (Insert(place, text.replace("nn.Dropout", "torch.nn.Dropout")),)
            return

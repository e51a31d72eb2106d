"""All observers of one capture, put in place in the order in which they have to meet a call."""

from __future__ import annotations

from autograd_inspector.capture.observers.backward.runs import Engine
from autograd_inspector.capture.observers.calls.checkpoints import Checkpoints
from autograd_inspector.capture.observers.calls.custom_backward import CustomBackward
from autograd_inspector.capture.observers.calls.default_dtype import DefaultDtype
from autograd_inspector.capture.observers.calls.fast_paths import FastPaths
from autograd_inspector.capture.observers.calls.function_gradients import FunctionGradients
from autograd_inspector.capture.observers.calls.functions import Unseen
from autograd_inspector.capture.observers.calls.installed import Observers
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.observers.calls.regions import Regions
from autograd_inspector.capture.observers.calls.seeding import Seeding
from autograd_inspector.capture.observers.calls.seen_modes import SeenModes
from autograd_inspector.capture.observers.calls.swaps import Swaps
from autograd_inspector.capture.observers.calls.traced import Tracing
from autograd_inspector.capture.observers.calls.transforms import Transforms
from autograd_inspector.capture.observers.compiled.calls import Compiled
from autograd_inspector.capture.observers.distributed.comm_hooks import CommHooks
from autograd_inspector.capture.observers.distributed.fingerprints import Fingerprints
from autograd_inspector.capture.observers.distributed.partial_sums import PartialSums
from autograd_inspector.capture.observers.distributed.rank_counts import RankCounts
from autograd_inspector.capture.observers.distributed.reductions import Reductions
from autograd_inspector.capture.observers.distributed.samplers import Samplers
from autograd_inspector.capture.observers.distributed.sharders import Sharders
from autograd_inspector.capture.observers.distributed.wrappers import Wrappers
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.observers.modules.entering import ModuleCalls
from autograd_inspector.capture.observers.optimizers.known import Optimizers
from autograd_inspector.capture.observers.optimizers.scaling import Scaling
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.anomaly import AnomalyStacks
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.recursion import RecursionLimit
from autograd_inspector.capture.undisturbed.warnings.showing import Warned


def install_all(
    recording: Recording,
    guard: Guard,
    regions: Regions,
    modules: Modules,
    optimizers: Optimizers,
    prints: Fingerprints,
    installation: Installation,
    *,
    eager: bool,
) -> None:
    """Observe everything; ``installation`` keeps what is to be undone. ``eager``: compiled code runs uncompiled."""
    recorder = Recorder(recording, regions, guard)
    recording.mode = recorder
    limit = RecursionLimit()
    wrappers = Wrappers(recording, guard)
    engine = Engine(recording, recorder, guard, limit, Reductions(recording, wrappers))
    calls = ModuleCalls(modules, FastPaths(guard, recorder))
    unseen = (Unseen(recording, regions, guard, limit), CustomBackward(recording, guard))
    asked = (Checkpoints(recording, guard), FunctionGradients(recording, guard), Transforms(recording, guard))
    counts = RankCounts(recording, guard)
    sharing = (
        wrappers,
        CommHooks(recording, guard),
        Sharders(recording, guard),
        PartialSums(recording, guard),
        Samplers(recording, guard),
        counts,
        prints,
    )
    everywhere = (
        SeenModes(),
        calls,
        modules,
        optimizers,
        *unseen,
        *asked,
        Seeding(recording, guard),
        *sharing,
        Scaling(recording, guard),
        DefaultDtype(recording, guard, recorder.forget),
    )
    observers = Observers(everywhere, recorder, (engine,))
    for part in (
        limit,
        observers,
        Compiled(observers, modules, optimizers.steps, eager=eager),
        Tracing(observers),
        Warned(),
        AnomalyStacks(),
        Swaps(recording, guard),
    ):
        part.install(installation)

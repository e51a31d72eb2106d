"""What the program did to whole modules and whole optimizers: one record a kind, in program order in a capture."""

from __future__ import annotations

from autograd_inspector.model.program_events.event import ProgramEvent
from autograd_inspector.model.program_events.functions import (
    FunctionRefused,
    IndependentResult,
    OnceDifferentiable,
    RandomStateDropped,
    RandomUnderVmap,
    StartRefused,
)
from autograd_inspector.model.program_events.modules import (
    GradientModified,
    ModelLoaded,
    ModeSwitched,
    ModuleAttached,
    ModuleHookRegistered,
    NamesUnmatched,
    OutputKeptOnContext,
    ParameterRegistered,
    ParametersConverted,
    ParameterWrapped,
    PlainAttributeSet,
    RequiresGradCompared,
    TensorHeld,
)
from autograd_inspector.model.program_events.optimizers import (
    LoadRefused,
    OptimizerCreated,
    OptimizerModeMet,
    OptionSet,
    ParametersRefused,
    ScalerRefused,
    SchedulerMade,
    SchedulerStepped,
    SparseGradientsMet,
    StateAbsent,
    StateAssigned,
    StateCast,
    StateLoaded,
    StateRemoved,
    StateStatement,
    StateSwapped,
    UpdateDropped,
    ZeroGradCalled,
)

__all__ = [
    "Event",
    "FunctionRefused",
    "GradientModified",
    "IndependentResult",
    "LoadRefused",
    "ModeSwitched",
    "ModelLoaded",
    "ModuleAttached",
    "ModuleHookRegistered",
    "NamesUnmatched",
    "OnceDifferentiable",
    "OptimizerCreated",
    "OptimizerModeMet",
    "OptionSet",
    "OutputKeptOnContext",
    "ParameterRegistered",
    "ParameterWrapped",
    "ParametersConverted",
    "ParametersRefused",
    "PlainAttributeSet",
    "ProgramEvent",
    "RandomStateDropped",
    "RandomUnderVmap",
    "RequiresGradCompared",
    "ScalerRefused",
    "SchedulerMade",
    "SchedulerStepped",
    "SparseGradientsMet",
    "StartRefused",
    "StateAbsent",
    "StateAssigned",
    "StateCast",
    "StateLoaded",
    "StateRemoved",
    "StateStatement",
    "StateSwapped",
    "TensorHeld",
    "UpdateDropped",
    "ZeroGradCalled",
]

Event = (
    ParameterRegistered
    | ModuleAttached
    | ParameterWrapped
    | ParametersConverted
    | ModelLoaded
    | NamesUnmatched
    | PlainAttributeSet
    | RequiresGradCompared
    | ModuleHookRegistered
    | ModeSwitched
    | OutputKeptOnContext
    | OnceDifferentiable
    | FunctionRefused
    | RandomUnderVmap
    | RandomStateDropped
    | StartRefused
    | IndependentResult
    | GradientModified
    | TensorHeld
    | OptimizerCreated
    | ParametersRefused
    | StateLoaded
    | LoadRefused
    | StateSwapped
    | StateAbsent
    | ZeroGradCalled
    | OptimizerModeMet
    | UpdateDropped
    | ScalerRefused
    | SparseGradientsMet
    | SchedulerMade
    | SchedulerStepped
    | OptionSet
    | StateAssigned
    | StateRemoved
)

"""What the program did to whole modules and whole optimizers: one record a kind, in program order in a capture."""

from __future__ import annotations

from autograd_inspector.model.program_events.event import ProgramEvent
from autograd_inspector.model.program_events.modules import (
    BareTensorHeld,
    GradientModified,
    ModelLoaded,
    ModeSwitched,
    ModuleAttached,
    ModuleHookRegistered,
    ModuleRepeated,
    NamesUnmatched,
    OutputKeptOnContext,
    ParameterRegistered,
    ParametersConverted,
    ParameterWrapped,
    PlainAttributeSet,
    RequiresGradCompared,
    ResultDiscarded,
)
from autograd_inspector.model.program_events.optimizers import (
    LoadRefused,
    OptimizerCreated,
    OptimizerModeMet,
    OptionSet,
    ParametersRefused,
    SchedulerMade,
    SchedulerStepped,
    StateAbsent,
    StateAssigned,
    StateCast,
    StateLoaded,
    StateRemoved,
    StateStatement,
    StateSwapped,
    SteppedAccumulating,
    UpdateDropped,
    ZeroGradCalled,
)

__all__ = [
    "BareTensorHeld",
    "Event",
    "GradientModified",
    "LoadRefused",
    "ModeSwitched",
    "ModelLoaded",
    "ModuleAttached",
    "ModuleHookRegistered",
    "ModuleRepeated",
    "NamesUnmatched",
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
    "RequiresGradCompared",
    "ResultDiscarded",
    "SchedulerMade",
    "SchedulerStepped",
    "StateAbsent",
    "StateAssigned",
    "StateCast",
    "StateLoaded",
    "StateRemoved",
    "StateStatement",
    "StateSwapped",
    "SteppedAccumulating",
    "UpdateDropped",
    "ZeroGradCalled",
]

Event = (
    ParameterRegistered
    | ModuleAttached
    | ModuleRepeated
    | ParameterWrapped
    | ParametersConverted
    | ModelLoaded
    | NamesUnmatched
    | PlainAttributeSet
    | BareTensorHeld
    | RequiresGradCompared
    | ResultDiscarded
    | ModuleHookRegistered
    | ModeSwitched
    | OutputKeptOnContext
    | GradientModified
    | OptimizerCreated
    | ParametersRefused
    | StateLoaded
    | LoadRefused
    | StateSwapped
    | StateAbsent
    | ZeroGradCalled
    | OptimizerModeMet
    | UpdateDropped
    | SteppedAccumulating
    | SchedulerMade
    | SchedulerStepped
    | OptionSet
    | StateAssigned
    | StateRemoved
)

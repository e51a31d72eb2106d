"""What the program did to whole modules and whole optimizers: one record a kind, in program order in a capture."""

from __future__ import annotations

from autograd_inspector.model.program_events.attributes import (
    AttributeSwitched,
    BareTensorHeld,
    LayersHeld,
    ModeNotPassedOn,
    ModeSwitched,
    NothingFrozen,
    PlainAttributeSet,
    PlainTensorHeld,
    RequiresGradCompared,
    TensorHeld,
)
from autograd_inspector.model.program_events.compiled import CompiledCalled
from autograd_inspector.model.program_events.event import ProgramEvent
from autograd_inspector.model.program_events.functions import (
    FunctionRefused,
    GradientModified,
    GradientsReturned,
    HookEnds,
    IndependentResult,
    NamedAgain,
    OnceDifferentiable,
    OtherCallRead,
    OutputKeptOnContext,
    RandomStateDropped,
    RandomUnderVmap,
    SavedTensorUnpacked,
    StartRefused,
    StatementIdle,
)
from autograd_inspector.model.program_events.modules import (
    CalledElsewhere,
    GradientsGone,
    HooksLost,
    ModelContained,
    ModelLoaded,
    ModelsShared,
    ModuleAttached,
    ModuleCleared,
    ModuleCopied,
    ModuleExchanged,
    ModuleHookRegistered,
    ModuleReattached,
    ModuleRepeated,
    NamesUnmatched,
    ParameterRegistered,
    ParametersConverted,
    ParameterWrapped,
    ResultDiscarded,
    WrittenInLoop,
)
from autograd_inspector.model.program_events.optimizers import (
    AverageLeft,
    ClippedIterator,
    GroupsMade,
    LiveStateLoaded,
    LoadRefused,
    OptimizerCreated,
    OptimizerModeMet,
    OptionReplaced,
    OptionSet,
    OptionStray,
    ParametersRefused,
    ParametersSelected,
    RoundLeft,
    ScalerRefused,
    SchedulerLoaded,
    SchedulerMade,
    SchedulerSaved,
    SchedulerStepped,
    SparseGradientsMet,
    StateAbsent,
    StateAssigned,
    StateCast,
    StateLoaded,
    StateRemoved,
    StateSaved,
    StateStatement,
    StateSwapped,
    StepLeftEarly,
    StepNested,
    SteppedAccumulating,
    UpdateDropped,
    ZeroGradCalled,
)
from autograd_inspector.model.program_events.ranks import (
    Awaited,
    Communicated,
    DataMet,
    GradientsLeftLocal,
    LayerComputed,
    ModelSharded,
    RandomStateSet,
    ReductionContinued,
    ReductionHooked,
    ReplicasWrapped,
    SamplerIterated,
    SamplerUnused,
    ShardSyncSet,
    StoodStill,
    SumLost,
    SummandTaken,
    SyncSwitchedOff,
    WeightsMet,
    WrappedAlone,
    WrapperCalled,
    WrapperReturned,
)

__all__ = [
    "AttributeSwitched",
    "AverageLeft",
    "Awaited",
    "BareTensorHeld",
    "CalledElsewhere",
    "ClippedIterator",
    "Communicated",
    "CompiledCalled",
    "DataMet",
    "Event",
    "FunctionRefused",
    "GradientModified",
    "GradientsGone",
    "GradientsLeftLocal",
    "GradientsReturned",
    "GroupsMade",
    "HookEnds",
    "HooksLost",
    "IndependentResult",
    "LayerComputed",
    "LayersHeld",
    "LiveStateLoaded",
    "LoadRefused",
    "ModeNotPassedOn",
    "ModeSwitched",
    "ModelContained",
    "ModelLoaded",
    "ModelSharded",
    "ModelsShared",
    "ModuleAttached",
    "ModuleCleared",
    "ModuleCopied",
    "ModuleExchanged",
    "ModuleHookRegistered",
    "ModuleReattached",
    "ModuleRepeated",
    "NamedAgain",
    "NamesUnmatched",
    "NothingFrozen",
    "OnceDifferentiable",
    "OptimizerCreated",
    "OptimizerModeMet",
    "OptionReplaced",
    "OptionSet",
    "OptionStray",
    "OtherCallRead",
    "OutputKeptOnContext",
    "ParameterRegistered",
    "ParameterWrapped",
    "ParametersConverted",
    "ParametersRefused",
    "ParametersSelected",
    "PlainAttributeSet",
    "PlainTensorHeld",
    "ProgramEvent",
    "RandomStateDropped",
    "RandomStateSet",
    "RandomUnderVmap",
    "ReductionContinued",
    "ReductionHooked",
    "ReplicasWrapped",
    "RequiresGradCompared",
    "ResultDiscarded",
    "RoundLeft",
    "SamplerIterated",
    "SamplerUnused",
    "SavedTensorUnpacked",
    "ScalerRefused",
    "SchedulerLoaded",
    "SchedulerMade",
    "SchedulerSaved",
    "SchedulerStepped",
    "ShardSyncSet",
    "SparseGradientsMet",
    "StartRefused",
    "StateAbsent",
    "StateAssigned",
    "StateCast",
    "StateLoaded",
    "StateRemoved",
    "StateSaved",
    "StateStatement",
    "StateSwapped",
    "StatementIdle",
    "StepLeftEarly",
    "StepNested",
    "SteppedAccumulating",
    "StoodStill",
    "SumLost",
    "SummandTaken",
    "SyncSwitchedOff",
    "TensorHeld",
    "UpdateDropped",
    "WeightsMet",
    "WrappedAlone",
    "WrapperCalled",
    "WrapperReturned",
    "WrittenInLoop",
    "ZeroGradCalled",
]

Event = (
    ParameterRegistered
    | AttributeSwitched
    | ModuleAttached
    | ModuleCleared
    | CalledElsewhere
    | ModuleExchanged
    | ModuleRepeated
    | ModelContained
    | ModuleCopied
    | ModuleReattached
    | ParameterWrapped
    | ParametersConverted
    | ModelLoaded
    | HooksLost
    | NamesUnmatched
    | PlainAttributeSet
    | PlainTensorHeld
    | NothingFrozen
    | BareTensorHeld
    | RequiresGradCompared
    | ResultDiscarded
    | ModuleHookRegistered
    | ModeNotPassedOn
    | ModeSwitched
    | OtherCallRead
    | OutputKeptOnContext
    | OnceDifferentiable
    | FunctionRefused
    | RandomUnderVmap
    | RandomStateDropped
    | SavedTensorUnpacked
    | StartRefused
    | StatementIdle
    | NamedAgain
    | IndependentResult
    | HookEnds
    | GradientModified
    | GradientsReturned
    | GradientsGone
    | TensorHeld
    | LayersHeld
    | ModelsShared
    | OptimizerCreated
    | ClippedIterator
    | ParametersRefused
    | GroupsMade
    | ParametersSelected
    | WrittenInLoop
    | RoundLeft
    | StateLoaded
    | StateSaved
    | LoadRefused
    | LiveStateLoaded
    | StateSwapped
    | StateAbsent
    | ZeroGradCalled
    | OptimizerModeMet
    | UpdateDropped
    | AverageLeft
    | StepLeftEarly
    | StepNested
    | SteppedAccumulating
    | ScalerRefused
    | SparseGradientsMet
    | SchedulerLoaded
    | SchedulerMade
    | SchedulerSaved
    | SchedulerStepped
    | OptionSet
    | OptionStray
    | StateAssigned
    | StateRemoved
    | ReplicasWrapped
    | WrappedAlone
    | WrapperCalled
    | SyncSwitchedOff
    | GradientsLeftLocal
    | ModelSharded
    | ReductionHooked
    | ReductionContinued
    | ShardSyncSet
    | SummandTaken
    | WrapperReturned
    | RandomStateSet
    | SumLost
    | Communicated
    | SamplerIterated
    | SamplerUnused
    | StoodStill
    | Awaited
    | DataMet
    | WeightsMet
    | LayerComputed
    | CompiledCalled
)

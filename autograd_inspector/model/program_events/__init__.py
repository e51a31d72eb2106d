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
    RequiresGradKept,
    TensorHeld,
)
from autograd_inspector.model.program_events.compiled import CompiledCalled
from autograd_inspector.model.program_events.event import ProgramEvent
from autograd_inspector.model.program_events.functions import (
    ArgumentUnread,
    ContextsGiven,
    DefaultDtypeMet,
    DifferentiatedWithin,
    FunctionDifferentiated,
    FunctionRefused,
    GradientModified,
    GradientsReturned,
    GraphFlagSet,
    HookEnds,
    HookRefused,
    IndependentResult,
    LossDivided,
    NamedAgain,
    OnceDifferentiable,
    OtherCallRead,
    OutputKeptOnContext,
    RandomStateDropped,
    RandomStateSet,
    RandomUnderVmap,
    ReceiverBound,
    RoundLeft,
    SavedTensorUnpacked,
    StartRefused,
    StatementIdle,
)
from autograd_inspector.model.program_events.modules import (
    CalledElsewhere,
    GradientsGone,
    HooksLost,
    ModeBranchRead,
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
    ParametersCollected,
    ParametersRefused,
    ParametersSelected,
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
    ReductionContinued,
    ReductionHooked,
    ReductionUnfinished,
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
    "ArgumentUnread",
    "AttributeSwitched",
    "AverageLeft",
    "Awaited",
    "BareTensorHeld",
    "CalledElsewhere",
    "ClippedIterator",
    "Communicated",
    "CompiledCalled",
    "ContextsGiven",
    "DataMet",
    "DefaultDtypeMet",
    "DifferentiatedWithin",
    "Event",
    "FunctionDifferentiated",
    "FunctionRefused",
    "GradientModified",
    "GradientsGone",
    "GradientsLeftLocal",
    "GradientsReturned",
    "GraphFlagSet",
    "GroupsMade",
    "HookEnds",
    "HookRefused",
    "HooksLost",
    "IndependentResult",
    "LayerComputed",
    "LayersHeld",
    "LiveStateLoaded",
    "LoadRefused",
    "LossDivided",
    "ModeBranchRead",
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
    "ParametersCollected",
    "ParametersConverted",
    "ParametersRefused",
    "ParametersSelected",
    "PlainAttributeSet",
    "PlainTensorHeld",
    "ProgramEvent",
    "RandomStateDropped",
    "RandomStateSet",
    "RandomUnderVmap",
    "ReceiverBound",
    "ReductionContinued",
    "ReductionHooked",
    "ReductionUnfinished",
    "ReplicasWrapped",
    "RequiresGradCompared",
    "RequiresGradKept",
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
    | RequiresGradKept
    | ResultDiscarded
    | ModuleHookRegistered
    | ModeNotPassedOn
    | ModeSwitched
    | OtherCallRead
    | OutputKeptOnContext
    | OnceDifferentiable
    | FunctionRefused
    | FunctionDifferentiated
    | RandomUnderVmap
    | RandomStateDropped
    | ContextsGiven
    | SavedTensorUnpacked
    | StartRefused
    | StatementIdle
    | DefaultDtypeMet
    | ModeBranchRead
    | NamedAgain
    | ReceiverBound
    | IndependentResult
    | HookEnds
    | HookRefused
    | GradientModified
    | GradientsReturned
    | GraphFlagSet
    | ArgumentUnread
    | LossDivided
    | DifferentiatedWithin
    | GradientsGone
    | TensorHeld
    | LayersHeld
    | ModelsShared
    | OptimizerCreated
    | ClippedIterator
    | ParametersRefused
    | GroupsMade
    | ParametersCollected
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
    | ReductionUnfinished
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

"""The edits of a finding, from what its rule wants done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograd_inspector.edits.blocks import entered_in_rounds, goes_on, unblocked, undecorated, wrapped
from autograd_inspector.edits.calls import each_its_own, left_there, other_module, swapped, unwrapped
from autograd_inspector.edits.carried import cut_at_entry, cut_carried, last_kept
from autograd_inspector.edits.closures import (
    backward_before,
    backward_from,
    bound_now,
    chained,
    returned,
    returned_also,
    returned_at_end,
    returned_swapped,
)
from autograd_inspector.edits.constructs import (
    added_in_place,
    as_list,
    as_property,
    entered_here,
    put_beside,
    reentered,
    truly_divided,
    written_back,
)
from autograd_inspector.edits.derivatives import grad_of_whole, gradient_returned
from autograd_inspector.edits.estimators import looked_up_softly, sample_through, straight_through
from autograd_inspector.edits.exchanged import (
    also_detached,
    also_given,
    assigned_detached,
    converted,
    copied_on_assignment,
    deeply_copied,
    into_parameter,
    not_copied,
    parts_swapped,
    shared,
)
from autograd_inspector.edits.expressions import (
    renamed,
    set_argument,
    substituted,
    taken_off,
    with_operand,
)
from autograd_inspector.edits.freezing import assigned, frozen, unfrozen
from autograd_inspector.edits.guards import unguarded
from autograd_inspector.edits.into_place import added_up, kept_result, own_part_kept, written_into
from autograd_inspector.edits.loops import steps_last
from autograd_inspector.edits.out_of_place import computed_anew, not_in_place, off_data, returned_new
from autograd_inspector.edits.parameters import called_with, functionally_called, others_left_out, rows_frozen
from autograd_inspector.edits.program import Program
from autograd_inspector.edits.registration import registered, registered_as_buffer
from autograd_inspector.edits.settings import set_everywhere
from autograd_inspector.edits.statements import hoisted, in_constructor, inserted, moved, removed, repeated, run_once
from autograd_inspector.edits.unwritten import not_read, not_written, without_cure
from autograd_inspector.edits.values import (
    as_function,
    base_bounded,
    made_with,
    masked_finitely,
    root_of_variance,
    spread,
)
from autograd_inspector.model.edit import Edit, Unedited, Written
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import (
    AddUp,
    Again,
    BackwardFrom,
    BindNow,
    ChainRule,
    EachItsOwn,
    Freeze,
    Hoist,
    Insert,
    KeepOwnPart,
    LeaveThere,
    Move,
    NotInPlace,
    Operand,
    OtherModule,
    OutOfPlace,
    Register,
    Remedies,
    Remove,
    Rename,
    ReturnAlso,
    ReturnNew,
    RunOnce,
    SetArgument,
    SetEverywhere,
    StraightThrough,
    Substitute,
    SwapArguments,
    TakeOff,
    Unblock,
    Undecorate,
    Unwrap,
    Wrap,
    WriteInto,
)
from autograd_inspector.model.rewrites import (
    AddInPlace,
    AlsoDetach,
    AlsoGiven,
    AsFunction,
    AsList,
    AsProperty,
    AssignCompared,
    BesideCall,
    BoundBase,
    CallBackward,
    CallFunctional,
    CallWith,
    Convert,
    CutAtEntry,
    CutCarried,
    DeepCopy,
    DetachAssigned,
    EnterHere,
    EnterInRounds,
    FiniteMask,
    FreezeRows,
    GoOn,
    GradOfWhole,
    InConstructor,
    IntoBuffer,
    IntoParameter,
    KeepLast,
    KeepResult,
    MadeWith,
    NotCopied,
    OffData,
    OthersLeftOut,
    OwnCopy,
    Reenter,
    ReturnAtEnd,
    ReturnGradient,
    ReturnIt,
    RootOfVariance,
    SampleThrough,
    Share,
    SoftLookup,
    Spread,
    StepsLast,
    SwapParts,
    SwapReturned,
    TrueDivision,
    Unfreeze,
    Unguard,
    WriteBack,
)

Writer = Callable[[Program, Any], list[Edit]]

_WRITERS: Mapping[type, Writer] = {
    TakeOff: taken_off,
    OutOfPlace: computed_anew,
    NotInPlace: not_in_place,
    Register: registered,
    Remove: removed,
    Insert: inserted,
    Move: moved,
    SetArgument: set_argument,
    Rename: renamed,
    Substitute: substituted,
    Operand: with_operand,
    StraightThrough: straight_through,
    Wrap: wrapped,
    Again: repeated,
    Hoist: hoisted,
    Undecorate: undecorated,
    Unblock: unblocked,
    RunOnce: run_once,
    SetEverywhere: set_everywhere,
    WriteInto: written_into,
    BindNow: bound_now,
    KeepOwnPart: own_part_kept,
    BackwardFrom: backward_from,
    Unwrap: unwrapped,
    SwapArguments: swapped,
    OtherModule: other_module,
    LeaveThere: left_there,
    EachItsOwn: each_its_own,
    ReturnNew: returned_new,
    Freeze: frozen,
    ChainRule: chained,
    ReturnAlso: returned_also,
    AddUp: added_up,
    ReturnAtEnd: returned_at_end,
    ReturnIt: returned,
    GoOn: goes_on,
    AddInPlace: added_in_place,
    KeepResult: kept_result,
    NotCopied: not_copied,
    ReturnGradient: gradient_returned,
    Unfreeze: unfrozen,
    DeepCopy: deeply_copied,
    OwnCopy: copied_on_assignment,
    DetachAssigned: assigned_detached,
    SwapReturned: returned_swapped,
    AlsoDetach: also_detached,
    BesideCall: put_beside,
    AlsoGiven: also_given,
    AsList: as_list,
    AsProperty: as_property,
    Convert: converted,
    CutCarried: cut_carried,
    EnterHere: entered_here,
    EnterInRounds: entered_in_rounds,
    IntoBuffer: registered_as_buffer,
    IntoParameter: into_parameter,
    Reenter: reentered,
    Share: shared,
    SwapParts: parts_swapped,
    TrueDivision: truly_divided,
    WriteBack: written_back,
    GradOfWhole: grad_of_whole,
    CallBackward: backward_before,
    AssignCompared: assigned,
    InConstructor: in_constructor,
    OthersLeftOut: others_left_out,
    FreezeRows: rows_frozen,
    OffData: off_data,
    CallWith: called_with,
    CallFunctional: functionally_called,
    SoftLookup: looked_up_softly,
    Unguard: unguarded,
    StepsLast: steps_last,
    KeepLast: last_kept,
    CutAtEntry: cut_at_entry,
    Spread: spread,
    SampleThrough: sample_through,
    RootOfVariance: root_of_variance,
    MadeWith: made_with,
    FiniteMask: masked_finitely,
    BoundBase: base_bounded,
    AsFunction: as_function,
}

Programs = Callable[[Location], Program | None]
"""Where something ran -> the file or cell that it is in; None where its text is not known, or is not the user's."""


_MOST = 4
"""Cures of one problem that are written: each of them costs a trial."""


def written(problem: Problem, programs: Programs) -> Written:
    """The edits of the first cure that can be written, and of others; why, where the syntax allows none of them.

    What is only an info is not tried: it has the first alone.
    """
    most = 1 if problem.severity == "info" else _MOST
    found: list[tuple[Edit, ...]] = []
    why: Unedited | None = None
    for remedies in problem.cures:
        edits = edits_of(remedies, programs)
        if isinstance(edits, Unedited):
            why = why or edits
        elif edits not in found:
            found.append(edits)
        if len(found) == most:
            break
    if not found:
        return Written(unedited=why or without_cure(problem.locations, programs))
    return Written(found[0], tuple(found[1:]))


def edits_of(remedies: Remedies, programs: Programs) -> tuple[Edit, ...] | Unedited:
    """The edits that do all of it; or why the syntax does not allow one of them, or the result."""
    edits: list[Edit] = []
    concerned: dict[str, Program] = {}
    for remedy in remedies:
        program = programs(remedy.at)
        if program is None:
            return not_read(remedy.at)
        concerned[program.filename] = program
        changes = _WRITERS[type(remedy)](program, remedy)
        if not changes:
            return not_written(program, remedy, programs)
        edits += (edit for edit in changes if edit not in edits)
    for filename, program in concerned.items():
        obstacle = program.obstacle(tuple(edit for edit in edits if edit.filename == filename))
        if obstacle is not None:
            return obstacle
    return tuple(edits)

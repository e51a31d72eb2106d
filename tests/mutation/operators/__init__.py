"""The kinds of faults: each finds the places of a program that it can be planted at."""

from . import (
    accumulating,
    copying,
    cuts,
    freezing,
    gradients,
    hooks,
    leaks,
    membership,
    modes,
    numbers,
    protocol,
    registering,
    sampling,
    state,
    training,
    wiring,
    writes,
)

KINDS = {
    kind.name: kind
    for group in (
        cuts,
        modes,
        sampling,
        writes,
        protocol,
        accumulating,
        wiring,
        membership,
        state,
        gradients,
        hooks,
        leaks,
        registering,
        copying,
        freezing,
        training,
        numbers,
    )
    for kind in group.KINDS
}

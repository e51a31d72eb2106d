"""The kinds of faults: each finds the places of a program that it can be planted at."""

from . import (
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
        membership,
        state,
        gradients,
        hooks,
        leaks,
        registering,
        freezing,
        training,
        numbers,
    )
    for kind in group.KINDS
}

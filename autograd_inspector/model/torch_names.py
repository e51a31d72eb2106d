"""Names inside torch that records carry, by which a call of torch's own is told from one of the program's."""

EARLY_STOP = "_StopRecomputationError"
"""How checkpoint() ends a recomputation: no failure of the program's."""
MODULE_HOOK = "BackwardHookFunction"
"""The Function with which torch calls the backward hooks of a module."""
SAVES_INPUTS = "_NoopSaveInputs"
"""The Function with which checkpoint() kept its inputs until torch 2.12."""

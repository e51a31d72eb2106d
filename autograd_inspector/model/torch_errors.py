"""The messages of torch's own errors that mean something to autograd: the one table of them.

The front end has it too, generated, to tell which errors of a cell are worth an inspection.
"""

from __future__ import annotations

import re
from enum import Enum


class TorchError(Enum):
    """An error that torch raises; the value matches its message, in Python's and JavaScript's regular expressions.

    Upper and lower case are the same, and so are a line break and a blank.
    """

    MODIFIED_IN_PLACE = r"modified by an in-?place operation"
    NO_GRAPH = r"does not require grad and does not have a grad_fn"
    GRAPH_FREED = r"backward through the graph a second time"
    SAVED_FREED = r"saved (?:tensors|variables?) after they have already been freed"
    NOT_A_SCALAR = r"grad can be implicitly created only for (?:scalar|real)"
    VIEW_OF_LEAF = r"a view of a leaf variable that requires grad is being used in an in-?place operation"
    LEAF_IN_PLACE = r"(?<!view of )a leaf variable that requires grad .*in-?place"
    OVERLAPS_ITSELF = r"more than one element of the written-to tensor refers to a single memory location"
    OVERLAPS_INPUT = r"some elements of the input tensor and the written-to tensor refer to a single memory location"
    VIEW_IN_PLACE = r"is a view and (?:is|its base).* modified in-?place"
    OUT_ARGUMENT = r"functions with out=\.\.\. arguments don't support automatic differentiation"
    VIEW_MADE_IN_NO_GRAD = r"view was created in no_grad mode"
    VIEW_MADE_IN_INFERENCE = r"view was created in inference mode"
    SEVERAL_VIEWS = r"output of a function that returns multiple views"
    INFERENCE_SAVED = r"inference tensors? cannot be saved"
    INFERENCE_IN_PLACE = r"in-?place update to inference tensor"
    INFERENCE_OTHER = (
        r"inference tensors? outside inferencemode|"
        r"(?:requires_grad=true on|version_counter (?:for|of)) inference tensor"
    )
    NOT_DIFFERENTIABLE_ASKED = r"one of the differentiated tensors does not require grad"
    NOT_IN_GRAPH = r"differentiated tensors? at index (\d+)|one of the differentiated tensors appears"
    GRADIENT_NOT_KEPT = r"can't retain_grad on tensor that has requires_grad=false"
    HOOK_REFUSED = r"cannot register a hook on a tensor that doesn't require gradient"
    NUMPY_OF_TRACKED = r"can't call numpy\(\) on tensor that requires grad"
    FLAGS_OF_NON_LEAF = r"only change requires_grad flags of leaf|grad hooks cannot be registered on non-leaf"
    NOT_FLOATING = r"only tensors of floating point .*(?:can require|require) gradients?"
    NON_LEAF_OPTIMIZED = r"can't optimize a non-leaf tensor"
    IN_SEVERAL_GROUPS = r"appear in more than one parameter group"
    NO_PARAMETERS = r"optimizer got an empty parameter list"
    OTHER_GROUPS_LOADED = r"doesn't match the size of optimizer's group|different number of parameter groups"
    DEEPCOPY_OF_NON_LEAF = r"graph leaves\) support the deepcopy protocol|only tensors created explicitly by the user"
    NON_LEAF_SENT = r"cowardly refusing to serialize non-leaf tensor"
    WRONG_GRADIENTS = (
        r"returned an (?:incorrect number of gradients(?: \(expected (\d+), got (\d+)\))?|invalid gradient)"
    )
    ONCE_DIFFERENTIABLE = r"marked with @once_differentiable"
    COMPILED_TWICE = r"aot_?autograd does not currently support double backward"
    SAVED_REUSED = r"compiled with non-empty donated buffers"
    NAN_IN_BACKWARD = r"returned nan values in its"
    NO_DERIVATIVE = r"derivative for '.*' is not implemented"
    NO_FORMULA = r"trying to backward through (\S+) but no autograd formula was registered"
    REGION_RECOMPUTED_AGAIN = r"backward an extra time.*selective activation checkpoint"
    GRAD_OUTPUT_SHAPE = r"mismatch in shape: grad_output"
    DDP_REDUCTION = r"expected to (?:have finished reduction|mark a variable ready only once)"
    RANK_ABSENT = (
        r"timed out waiting \d+ms for|connection (?:closed|reset) by peer|wait timeout|collective operation timeout"
        r"|caused pair closure|broken pipe|/gloo/|nccl"
    )
    UNSCALED_AGAIN = r"unscale_\(\) (?:has already been called on this optimizer|is being called after step)"
    SCALER_STEPPED_AGAIN = r"step\(\) has already been called since the last update"
    HALF_UNSCALED = r"attempting to unscale fp16 gradients"
    NOTHING_UNSCALED = r"no inf checks were recorded for this optimizer"
    NOTHING_CHECKED = r"no inf checks were recorded prior to update"
    NOTHING_SCALED = r"attempted (?:step|unscale_) but _scale is none"
    CLOSURE_MISSING = r"step\(\) missing 1 required positional argument: 'closure'"
    SETUP_CONTEXT_MISSING = r"in order to use an autograd\.function with functorch transforms"
    VMAP_RANDOM = r"vmap: called random operation while in randomness error mode"
    FUNCTION_NOT_SCALAR = r"expected f\(\*args\) to return a scalar tensor"
    OTHER_DTYPES = (
        r"same (?:data|d)type|expected scalar type .* but found|input dtype \(.*\) does not match|"
        r"type \(.*\) should be the same|found dtype .* but expected|expected dtype .* but got|"
        r"source and destination dtypes match"
    )
    SHARDS_AND_WHOLE = r"got mixed torch\.Tensor and DTensor"
    OTHER_DEVICES = r"expected all tensors to be on the same device|is not on the expected device"
    SPARSE_GRADIENT = (
        r"does not support sparse gradients|add\(sparse, dense\) is not supported|"
        r"sparse gradients are not supported|doesn't support sparse gradients"
    )
    DENSE_GRADIENT = r"does not support dense gradients"
    RECOMPUTED_OTHERWISE = (
        r"recomputed values for the following tensors have different metadata|"
        r"(?:a different number of|trying to save more) tensors .*recomput"
    )
    GRADIENT_REFUSED = r"attempting to assign a gradient (?:with|of) (dtype|size|device type)|assigned grad has data"
    HOOK_RESULT = (
        r"hook '(.*)' has (?:changed the (size|type) of value(?: \(was (\S+) got (\S+)\))?|"
        r"returned an incorrect number of values)|"
        r"expected (?:variable|tuple), but hook returned '(.*)'|"
        r"(tensor post accumulate grad hooks) should return none|"
        r"backward (?:pre )?hook returned an invalid number of grad_|"
        r"can't replace a none gradient with a non-none value|"
        r"backward hook for modules where no input requires gradient"
    )
    DETACHED_IN_PLACE = r"saved tensor that has been detached in-?place"
    DETACH_OF_VIEW = r"can't detach views in-?place"


_COMPILED = {error: re.compile(error.value, re.IGNORECASE | re.DOTALL) for error in TorchError}


def says(message: str, *errors: TorchError) -> re.Match[str] | None:
    """Where an exception's text is the message of one of those errors; None where it is not."""
    if not message:
        return None
    matches = (_COMPILED[error].search(message) for error in errors)
    return next((match for match in matches if match is not None), None)

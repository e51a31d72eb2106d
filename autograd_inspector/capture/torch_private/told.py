"""Functions, classes and ops of torch's that are told by their names, in a stack or in a record."""

from __future__ import annotations

import os

from autograd_inspector.capture.torch_private.resolving import spelled
from autograd_inspector.model import torch_names

_PICKLED = "tensors that are pickled and come back are not followed"
REDUCER = spelled("torch:Tensor._reduce_ex_internal", "a tensor is being pickled", without=_PICKLED)
REBUILDER = spelled("torch._utils:_rebuild_tensor_v2", "a tensor is being unpickled", without=_PICKLED)
SENDER = spelled(
    "torch.multiprocessing.reductions:reduce_tensor",
    "torch refused to send a tensor to another process",
    without="a tensor that torch refused to send to another process is not named",
    late=True,
)
CACHE = "torch.nn.utils.parametrize:_cache"
"""The parametrized weights that are kept while ``parametrize.cached()`` is on."""
spelled(CACHE, "a weight is cached", without="weights that parametrize.cached() keeps are not reported", late=True)
CACHED = spelled("torch.nn.utils.parametrize:cached", "weights are cached in a block", late=True)
DECORATING = tuple(path.replace("/", os.sep) for path in ("/torch/_compile.py", "/torch/_dynamo/eval_frame.py"))
"""Where the frames are that torch puts around those methods of its optimizers that dynamo is kept out of."""
COMPILED_GRAPH = "__compiled_fn"
"""How the names begin by which the code that Dynamo writes calls its graphs."""
COMPILED_BACKWARD = spelled(
    "torch:_functorch._aot_autograd",
    "the backward of a compiled region runs",
    without="the backward of compiled code is recorded op by op",
)

_CHECKPOINT = "torch.utils.checkpoint:"
spelled(
    _CHECKPOINT + torch_names.EARLY_STOP,
    "how checkpoint() ends a recomputation",
    without="the end of a recomputation by checkpoint() is reported as an error",
    late=True,
)
spelled(_CHECKPOINT + torch_names.SAVES_INPUTS, "the Function by which checkpoint() saves its inputs", late=True)
spelled(
    "torch.nn.modules._functions:" + torch_names.MODULE_HOOK,
    "the Function that calls the backward hooks of a module",
    without="gradients that a module's backward hook made zero are reported at the op before it",
)

_OP = "an op of optimizers, and of programs that do what those do"
for _op in (
    torch_names.ZERO_EACH,
    torch_names.COPY_EACH,
    torch_names.LERP_EACH,
    torch_names.MUL_EACH,
    torch_names.ADD_EACH,
    torch_names.SUB_EACH,
    torch_names.DIV_EACH,
    torch_names.UPDATE_SCALE,
):
    spelled(f"torch:{_op}", _OP, without=f"what torch calls instead of {_op} is recorded as an ordinary op")

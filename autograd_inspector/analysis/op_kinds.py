"""What the torch calls that analysis and advice tell apart do: the one table of them, each call once."""

from __future__ import annotations

import re
from enum import Flag, auto
from typing import Final

from autograd_inspector.model.torch_names import ADD_EACH, COPY_EACH, DIV_EACH, LERP_EACH, MUL_EACH, SUB_EACH, ZERO_EACH


class OpKind(Flag):
    """What a call does. A call has several kinds."""

    NONE = 0
    DETACHES = auto()
    """Returns, or leaves, the values without their history."""
    REWRAPS = auto()
    """Makes a tensor of values that came from outside of autograd."""
    PICKLES = auto()
    VIEWS = auto()
    """Returns what shares the memory of its input, and may return the input's own version counter."""
    ALIASES = auto()
    """Returns the same numbers in the same memory, and all of them."""
    KEEPS_ORDER = auto()
    """Returns elements of its input in the order that they had, where these lie next to each other."""
    RESHAPES = auto()
    """Returns all elements of its input in another shape."""
    SPLITS = auto()
    """Returns several views at once, which autograd lets nobody modify in place."""
    COPIES = auto()
    """Returns the same numbers in memory of their own."""
    COPIES_INTO = auto()
    """Gives a tensor the numbers, or the memory, of another one."""
    INTERPOLATES = auto()
    CONVERTS = auto()
    """Returns the same numbers in another dtype, on another device or in another layout."""
    CONCATENATES = auto()
    """Puts its inputs one behind the other."""
    STACKS = auto()
    ADDS = auto()
    SUBTRACTS = auto()
    REVERSED = auto()
    """Subtracts its first operand from its second."""
    MULTIPLIES = auto()
    MATRIX_MULTIPLIES = auto()
    DIVIDES = auto()
    NEGATES = auto()
    REDUCES = auto()
    """Adds up, or averages, the elements of its input."""
    ADDS_BIAS = auto()
    """Its third input, or the second of a plain sum, is added: the gradient of another is not multiplied by it."""
    ZEROES = auto()
    """Sets a tensor to zero in place."""
    RETURNS_ZEROS = auto()
    RETURNS_CONSTANT = auto()
    """Returns a tensor that no other tensor goes into."""
    TAKES_SHAPE_ONLY = auto()
    """Takes the shape of its input, and none of its values."""
    LEAVES_UNSET = auto()
    """Returns whatever the memory held before."""
    TAKES_NO_VALUES = auto()
    """Is given a tensor, and does not read its values."""
    SETS_NUMBER = auto()
    """Puts a number, an infinity perhaps, where the program says so."""
    IN_PLACE_ONLY = auto()
    """Has no form that returns a new tensor of the same."""
    DRAWS = auto()
    """Draws a random sample: its derivative is not defined, or zero."""
    DRAWS_DISCRETE = auto()
    """Draws from a distribution that has no ``rsample()``, or belongs to such a draw."""
    PIECEWISE_CONSTANT = auto()
    """Its derivative is zero wherever it is defined."""
    DRAWS_NOISE = auto()
    """Draws from a distribution that has no parameters."""
    COMPARES = auto()
    """Returns whether tensors are alike."""
    MEASURES = auto()
    """A loss that subtracts one of its two inputs from the other, broadcast, and reduces the result."""
    SELECTS = auto()
    """Returns some elements of its inputs, chosen by their values or by an index."""
    HINGES = auto()
    """Is zero, and has derivative zero, below a threshold."""
    CLAMPS = auto()
    SATURATES = auto()
    """Its derivative goes to zero where its input is large."""
    SAVES_RESULT = auto()
    """Its derivative is computed from its result."""
    SAVES_NOTHING = auto()
    """Its derivative needs the value of none of its operands."""
    CONVOLVES = auto()
    KEEPS_STATISTICS = auto()
    """Normalises, and updates running statistics where it is told to."""
    RENORMALISES = auto()
    """May rewrite its weight in place (``max_norm``)."""


_K = OpKind
_SUM = _K.ADDS | _K.SAVES_NOTHING
_DIFFERENCE = _K.SUBTRACTS | _K.SAVES_NOTHING
_FRESH = _K.RETURNS_CONSTANT
_LIKE = _K.TAKES_SHAPE_ONLY
_FILL = _K.IN_PLACE_ONLY | _K.TAKES_NO_VALUES
_ROWS: Final = (
    ("detach data", _K.DETACHES | _K.VIEWS | _K.ALIASES | _K.KEEPS_ORDER),
    ("detach_", _K.DETACHES | _K.IN_PLACE_ONLY | _K.TAKES_NO_VALUES),
    ("set_data grad", _K.DETACHES),
    ("unpickle as_tensor asarray from_numpy new_tensor", _K.REWRAPS),
    ("tensor", _K.REWRAPS | _FRESH | _K.SETS_NUMBER),
    ("scalar_tensor", _K.REWRAPS | _K.SETS_NUMBER),
    ("full", _K.REWRAPS | _FRESH | _K.SETS_NUMBER),
    ("full_like", _K.REWRAPS | _LIKE | _K.SETS_NUMBER),
    ("__deepcopy__", _K.REWRAPS | _K.COPIES),
    ("__reduce_ex__", _K.PICKLES),
    ("view reshape view_as flatten unflatten squeeze unsqueeze", _K.VIEWS | _K.KEEPS_ORDER | _K.RESHAPES),
    ("select __getitem__", _K.VIEWS | _K.KEEPS_ORDER | _K.SELECTS),
    ("narrow", _K.VIEWS | _K.KEEPS_ORDER),
    ("split split_with_sizes chunk unbind", _K.VIEWS | _K.KEEPS_ORDER | _K.SPLITS),
    ("tensor_split hsplit vsplit dsplit", _K.VIEWS | _K.SPLITS),
    ("expand expand_as T mT t H mH transpose permute movedim moveaxis swapaxes swapdims", _K.VIEWS),
    ("diagonal as_strided unfold real imag", _K.VIEWS),
    ("clone", _K.COPIES | _K.SAVES_NOTHING),
    (f"copy_ {COPY_EACH} set_", _K.COPIES_INTO | _K.IN_PLACE_ONLY),
    (f"lerp lerp_ {LERP_EACH}", _K.INTERPOLATES),
    ("to contiguous", _K.CONVERTS | _K.SAVES_NOTHING),
    ("type type_as float double half bfloat16 cpu cuda", _K.CONVERTS),
    ("cat", _K.CONCATENATES | _K.SAVES_NOTHING),
    ("concat concatenate hstack", _K.CONCATENATES),
    ("stack", _K.STACKS | _K.SAVES_NOTHING),
    ("add", _SUM | _K.ADDS_BIAS),
    (f"add_ __add__ __radd__ __iadd__ {ADD_EACH}", _SUM),
    ("sub", _DIFFERENCE | _K.ADDS_BIAS),
    (f"sub_ __sub__ subtract subtract_ __isub__ {SUB_EACH}", _DIFFERENCE),
    ("rsub __rsub__", _DIFFERENCE | _K.REVERSED),
    (f"mul mul_ __mul__ __rmul__ __imul__ multiply multiply_ {MUL_EACH}", _K.MULTIPLIES),
    ("matmul __matmul__ __rmatmul__ mm bmm mv dot", _K.MATRIX_MULTIPLIES),
    ("linear", _K.MATRIX_MULTIPLIES | _K.ADDS_BIAS),
    ("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d", _K.CONVOLVES | _K.ADDS_BIAS),
    ("bilinear", _K.ADDS_BIAS),
    ("batch_norm instance_norm", _K.KEEPS_STATISTICS),
    (f"div div_ divide divide_ true_divide __itruediv__ {DIV_EACH}", _K.DIVIDES),
    ("neg neg_ __neg__ negative negative_", _K.NEGATES | _K.SAVES_NOTHING),
    ("sum mean", _K.REDUCES | _K.SAVES_NOTHING),
    (f"zero_ {ZERO_EACH}", _K.ZEROES | _FILL | _K.SETS_NUMBER),
    ("fill_", _FILL | _K.SETS_NUMBER),
    ("uniform_ random_ exponential_", _K.IN_PLACE_ONLY),
    ("requires_grad_", _FILL),
    ("masked_fill where", _K.SETS_NUMBER | _K.SELECTS),
    ("masked_fill_ __setitem__ triu", _K.SETS_NUMBER),
    ("max min amax amin maximum minimum gather index_select take_along_dim", _K.SELECTS),
    ("zeros", _FRESH | _K.RETURNS_ZEROS),
    ("zeros_like new_zeros", _LIKE | _K.RETURNS_ZEROS),
    ("ones arange eye linspace tril_indices", _FRESH),
    ("empty", _FRESH | _K.LEAVES_UNSET),
    ("empty_like new_empty new_empty_strided", _LIKE | _K.LEAVES_UNSET),
    ("empty_strided resize_", _K.LEAVES_UNSET),
    ("ones_like randint_like new_ones", _LIKE),
    ("rand_like randn_like", _LIKE | _K.DRAWS_NOISE),
    ("rand randn", _K.DRAWS_NOISE),
    ("new_full", _LIKE | _K.SETS_NUMBER),
    ("normal rrelu_with_noise", _K.DRAWS),
    ("normal_", _K.DRAWS | _K.IN_PLACE_ONLY),
    ("multinomial bernoulli poisson binomial", _K.DRAWS | _K.DRAWS_DISCRETE),
    ("bernoulli_", _K.DRAWS | _K.DRAWS_DISCRETE | _K.IN_PLACE_ONLY),
    ("one_hot scatter_", _K.DRAWS_DISCRETE),
    ("round floor ceil trunc sign round_ floor_ ceil_ trunc_ sign_", _K.PIECEWISE_CONSTANT),
    ("mse_loss l1_loss smooth_l1_loss huber_loss", _K.MEASURES),
    ("equal allclose isclose eq ne __eq__ __ne__ is_same_size", _K.COMPARES),
    ("relu relu_", _K.HINGES | _K.SAVES_RESULT),
    ("threshold threshold_", _K.HINGES),
    ("clamp clamp_ clip clip_", _K.CLAMPS),
    ("sigmoid tanh sigmoid_ tanh_", _K.SATURATES | _K.SAVES_RESULT),
    ("hardtanh relu6 hardsigmoid erf hardtanh_ erf_", _K.SATURATES),
    ("softmax log_softmax exp expm1 sqrt rsqrt reciprocal elu selu celu tan", _K.SAVES_RESULT),
    ("exp_ expm1_ sqrt_ rsqrt_ reciprocal_ tan_ elu_ celu_ leaky_relu_ selu_ rrelu_", _K.SAVES_RESULT),
    ("embedding embedding_bag embedding_renorm_", _K.RENORMALISES),
)
_TABLE: Final[dict[str, OpKind]] = {name: kinds for names, kinds in _ROWS for name in names.split()}
_NODE = re.compile(r"([A-Z]\w*?)Backward\d+$")


def listed() -> list[str]:
    """Every call of the table, as often as it stands there."""
    return [name for names, _ in _ROWS for name in names.split()]


def kinds_of(name: str) -> OpKind:
    """What a call of that name does; NONE of one that nothing needs to be known of."""
    return _TABLE.get(name, OpKind.NONE)


def is_a(name: str, kinds: OpKind) -> bool:
    """Whether a call of that name is of one of those kinds."""
    return (
        _TABLE.get(name, OpKind.NONE)._value_ & kinds._value_ != 0
    )  # Asked a hundred times an op: enum's `&` is slow.


def node_is_a(name: str, kinds: OpKind) -> bool:
    """The same of an autograd node.

    A node of torch's own has a number at its end; a custom Function named Round makes a RoundBackward without one.
    Where the record of an op stands in for its nodes, the name is the op's own.
    """
    made = _NODE.match(name)
    return is_a(made[1].lower() if made is not None else name, kinds)

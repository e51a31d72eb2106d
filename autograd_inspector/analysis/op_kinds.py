"""What the torch calls that rules tell apart do: the one table of them, collectives included, each call once."""

from __future__ import annotations

import re
from enum import Flag, auto
from functools import lru_cache
from typing import Final

from autograd_inspector.model.torch_names import ADD_EACH, COPY_EACH, DIV_EACH, LERP_EACH, MUL_EACH, SUB_EACH, ZERO_EACH


class OpKind(Flag):
    """What a call does. A call has several kinds."""

    NONE = 0
    DETACHES = auto()
    """Returns, or leaves, the values without their history."""
    REWRAPS = auto()
    """Makes a tensor of values that came from outside of autograd."""
    EXTRACTS = auto()
    """Returns the values to Python, to NumPy or to a pickle."""
    EXTRACTS_WHOLE = auto()
    """Returns all values of a tensor as an array or a list."""
    ASKS = auto()
    """Returns a truth value to Python, with which the program decides."""
    PICKLES = auto()
    UNPICKLES = auto()
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
    CASTS_TO_INTEGER = auto()
    BROADCASTS = auto()
    """Returns its inputs in one shape that fits all."""
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
    INVERTS = auto()
    """Divides a number by its input."""
    NEGATES = auto()
    REDUCES = auto()
    """Adds up, or averages, the elements of its input."""
    ADDS_BIAS = auto()
    """Its third input, or the second of a plain sum, is added: the gradient of another is not multiplied by it."""
    ADDS_TO_FIRST = auto()
    """Its first input is added to a product of the others."""
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
    ACCUMULATES = auto()
    """Computes in place with what a tensor was: done twice, it leaves something else than done once."""
    DRAWS = auto()
    """Draws a random sample: its derivative is not defined, or zero."""
    DRAWS_DISCRETE = auto()
    """Draws from a distribution that has no ``rsample()``, or belongs to such a draw."""
    PIECEWISE_CONSTANT = auto()
    """Its derivative is zero wherever it is defined."""
    DRAWS_NOISE = auto()
    """Draws from a distribution that has no parameters."""
    RANDOM = auto()
    """Returns random numbers, and has no derivative that they would cut off."""
    FILLS_RANDOMLY = auto()
    """Writes random numbers over what a tensor was."""
    TELLS_MISSING = auto()
    """Returns where its input is NaN, or is not finite."""
    COMPARES = auto()
    """Returns whether tensors are alike."""
    ORDERS = auto()
    """Returns which of two is the larger one."""
    EVEN = auto()
    """Returns the same of a tensor and of its negative: of a power, where the exponent is even."""
    ALIGNS = auto()
    """A loss over all alignments of a sequence with a shorter one."""
    MEASURES = auto()
    """A loss that subtracts one of its two inputs from the other, broadcast, and reduces the result."""
    TAKES_SCORES = auto()
    """A loss that applies log-softmax to its input itself."""
    TAKES_LOGITS = auto()
    """A loss that applies sigmoid to its input itself."""
    TAKES_LOGS = auto()
    """A loss of log-probabilities."""
    TARGETED = auto()
    """A loss whose second input is what the first is to become: the two do not count alike."""
    TAKES_CLASSES = auto()
    """A loss whose target is the index of a class; ``ignore_index`` leaves positions out of its mean."""
    LIKELIHOOD = auto()
    """Makes a probability, or the logarithm of one, of numbers that are computed already."""
    SELECTS = auto()
    """Returns some elements of its inputs, chosen by their values or by an index."""
    LARGEST = auto()
    """Finds where the largest element is."""
    CHOOSES = auto()
    """Returns elements of one input or of another, as a condition says."""
    BENDS = auto()
    """Is linear but for some points, so that its derivative has derivative zero."""
    SLOPE_OF_BENDS = auto()
    """The derivative of such a function; its last input is where that is taken, and its derivative by it is zero."""
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
    TAKES_ROOT = auto()
    """Its derivative at 0 is infinite."""
    NORM = auto()
    """The root of a sum of squares."""
    TAKES_LOG = auto()
    TAKES_LOG_BESIDE_ONE = auto()
    """Of its argument plus one."""
    EXPONENTIATES = auto()
    POWERS = auto()
    SPREADS = auto()
    """Returns how far the elements lie from their mean."""
    SOFTMAX = auto()
    ATTENDS = auto()
    ARC = auto()
    """Defined from -1 to 1, where its derivative is infinite at both ends."""
    ALL_JOIN = auto()
    """A collective that every rank of the group has to call."""
    REDUCES_RANKS = auto()
    """A collective that adds up, or averages, what all ranks give."""
    TO_ONE_RANK = auto()
    """A collective whose result one rank alone gets."""
    OF_ONE_SIZE = auto()
    """A collective to which all ranks have to bring as much, in the same dtype."""
    FROM_ONE_RANK = auto()
    """A collective that gives the others what one rank has."""
    POINT_TO_POINT = auto()
    """Sends from one rank to another one."""
    SENDS = auto()
    RECEIVES = auto()
    SENDS_OBJECTS = auto()
    """Hands pickled objects from rank to rank."""
    TAKES_PART = auto()
    """Returns what this rank holds of a distributed tensor."""
    SPREADS_OUT = auto()
    """Makes a distributed tensor, or sends parts of one to other ranks."""


_K = OpKind
_SUM = _K.ADDS | _K.SAVES_NOTHING
_DIFFERENCE = _K.SUBTRACTS | _K.SAVES_NOTHING
_FRESH = _K.RETURNS_CONSTANT
_LIKE = _K.TAKES_SHAPE_ONLY
_FILL = _K.IN_PLACE_ONLY | _K.TAKES_NO_VALUES
_AGAIN = _K.ACCUMULATES
_ROWS: Final = (
    ("detach data", _K.DETACHES | _K.VIEWS | _K.ALIASES | _K.KEEPS_ORDER),
    ("detach_", _K.DETACHES | _K.IN_PLACE_ONLY | _K.TAKES_NO_VALUES),
    ("set_data grad", _K.DETACHES),
    ("unpickle", _K.REWRAPS | _K.UNPICKLES),
    ("as_tensor asarray from_numpy new_tensor", _K.REWRAPS),
    ("tensor", _K.REWRAPS | _FRESH | _K.SETS_NUMBER),
    ("scalar_tensor", _K.REWRAPS | _K.SETS_NUMBER),
    ("full", _K.REWRAPS | _FRESH | _K.SETS_NUMBER),
    ("full_like", _K.REWRAPS | _LIKE | _K.SETS_NUMBER),
    ("__deepcopy__", _K.REWRAPS | _K.COPIES),
    ("__reduce_ex__", _K.PICKLES | _K.EXTRACTS),
    ("tolist numpy __array__", _K.EXTRACTS | _K.EXTRACTS_WHOLE),
    ("item __float__ __int__", _K.EXTRACTS),
    ("__bool__", _K.ASKS),
    ("view reshape view_as flatten unflatten squeeze unsqueeze", _K.VIEWS | _K.KEEPS_ORDER | _K.RESHAPES),
    ("select __getitem__", _K.VIEWS | _K.KEEPS_ORDER | _K.SELECTS),
    ("narrow", _K.VIEWS | _K.KEEPS_ORDER),
    ("split split_with_sizes chunk unbind", _K.VIEWS | _K.KEEPS_ORDER | _K.SPLITS),
    ("tensor_split hsplit vsplit dsplit", _K.VIEWS | _K.SPLITS),
    ("expand expand_as T mT t H mH transpose permute movedim moveaxis swapaxes swapdims", _K.VIEWS),
    ("diagonal as_strided unfold real imag", _K.VIEWS),
    ("clone", _K.COPIES | _K.SAVES_NOTHING),
    (f"copy_ {COPY_EACH} set_", _K.COPIES_INTO | _K.IN_PLACE_ONLY),
    (f"lerp {LERP_EACH}", _K.INTERPOLATES),
    ("lerp_", _K.INTERPOLATES | _AGAIN),
    ("to contiguous", _K.CONVERTS | _K.SAVES_NOTHING),
    ("type type_as float double half bfloat16 cpu cuda", _K.CONVERTS),
    ("long int", _K.CASTS_TO_INTEGER),
    ("broadcast_tensors", _K.BROADCASTS),
    ("cat", _K.CONCATENATES | _K.SAVES_NOTHING),
    ("concat concatenate hstack", _K.CONCATENATES),
    ("stack", _K.STACKS | _K.SAVES_NOTHING),
    ("add", _SUM | _K.ADDS_BIAS),
    ("add_", _SUM | _AGAIN),
    (f"__add__ __radd__ __iadd__ {ADD_EACH}", _SUM),
    ("sub", _DIFFERENCE | _K.ADDS_BIAS),
    ("sub_", _DIFFERENCE | _AGAIN),
    (f"__sub__ subtract subtract_ __isub__ {SUB_EACH}", _DIFFERENCE),
    ("rsub __rsub__", _DIFFERENCE | _K.REVERSED),
    ("mul_", _K.MULTIPLIES | _AGAIN),
    (f"mul __mul__ __rmul__ __imul__ multiply multiply_ {MUL_EACH}", _K.MULTIPLIES),
    ("matmul __matmul__ __rmatmul__ mm bmm mv dot", _K.MATRIX_MULTIPLIES),
    ("linear", _K.MATRIX_MULTIPLIES | _K.ADDS_BIAS),
    ("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d", _K.CONVOLVES | _K.ADDS_BIAS),
    ("bilinear", _K.ADDS_BIAS),
    ("batch_norm instance_norm native_batch_norm", _K.KEEPS_STATISTICS),
    ("div_", _K.DIVIDES | _AGAIN),
    (f"div divide divide_ true_divide __itruediv__ {DIV_EACH}", _K.DIVIDES),
    ("__rdiv__ __rtruediv__", _K.INVERTS | _K.REVERSED),
    ("reciprocal reciprocal_", _K.INVERTS | _K.SAVES_RESULT),
    ("addmm baddbmm addmv", _K.ADDS_TO_FIRST),
    ("addcmul_ addcdiv_ index_add_", _AGAIN),
    ("neg_", _K.NEGATES | _K.SAVES_NOTHING | _AGAIN),
    ("neg __neg__ negative negative_", _K.NEGATES | _K.SAVES_NOTHING),
    ("sum mean", _K.REDUCES | _K.SAVES_NOTHING),
    (f"zero_ {ZERO_EACH}", _K.ZEROES | _FILL | _K.SETS_NUMBER),
    ("fill_", _FILL | _K.SETS_NUMBER),
    ("uniform_ random_ exponential_ cauchy_ geometric_ log_normal_", _K.IN_PLACE_ONLY | _K.FILLS_RANDOMLY),
    ("kaiming_uniform_ kaiming_normal_ xavier_uniform_ xavier_normal_ trunc_normal_ orthogonal_", _K.FILLS_RANDOMLY),
    ("fill_diagonal_ apply_ map_ map2_", _K.IN_PLACE_ONLY),
    ("requires_grad_", _FILL),
    ("masked_fill where", _K.SETS_NUMBER | _K.SELECTS | _K.CHOOSES),
    ("masked_fill_ __setitem__ triu", _K.SETS_NUMBER),
    ("max", _K.SELECTS | _K.LARGEST),
    ("argmax", _K.LARGEST),
    ("min amax amin maximum minimum index_select take_along_dim", _K.SELECTS),
    ("gather", _K.SELECTS | _K.TO_ONE_RANK),  # torch.gather, and that of torch.distributed.
    ("zeros", _FRESH | _K.RETURNS_ZEROS),
    ("zeros_like new_zeros", _LIKE | _K.RETURNS_ZEROS),
    ("ones arange eye linspace tril_indices", _FRESH),
    ("empty", _FRESH | _K.LEAVES_UNSET),
    ("empty_like new_empty new_empty_strided", _LIKE | _K.LEAVES_UNSET),
    ("empty_strided resize_", _K.LEAVES_UNSET),
    ("ones_like new_ones", _LIKE),
    ("randint_like", _LIKE | _K.RANDOM),
    ("rand_like randn_like", _LIKE | _K.DRAWS_NOISE | _K.RANDOM),
    ("rand randn", _K.DRAWS_NOISE | _K.RANDOM),
    ("randint randperm gumbel_softmax", _K.RANDOM),
    ("new_full", _LIKE | _K.SETS_NUMBER),
    ("normal rrelu_with_noise", _K.DRAWS),
    ("normal_", _K.DRAWS | _K.IN_PLACE_ONLY | _K.FILLS_RANDOMLY),
    ("multinomial bernoulli poisson binomial", _K.DRAWS | _K.DRAWS_DISCRETE),
    ("bernoulli_", _K.DRAWS | _K.DRAWS_DISCRETE | _K.IN_PLACE_ONLY),
    ("one_hot scatter_", _K.DRAWS_DISCRETE),
    ("round floor ceil trunc sign round_ floor_ ceil_ trunc_ sign_", _K.PIECEWISE_CONSTANT),
    ("cross_entropy", _K.TAKES_SCORES | _K.TARGETED | _K.TAKES_CLASSES | _K.LIKELIHOOD),
    ("binary_cross_entropy_with_logits", _K.TAKES_LOGITS | _K.TARGETED),
    ("binary_cross_entropy", _K.TARGETED),
    ("nll_loss", _K.TAKES_LOGS | _K.TAKES_CLASSES | _K.LIKELIHOOD),
    ("kl_div", _K.TAKES_LOGS | _K.TARGETED),
    ("ctc_loss", _K.TAKES_LOGS | _K.ALIGNS),
    ("mse_loss l1_loss smooth_l1_loss huber_loss", _K.MEASURES),
    ("isnan isfinite", _K.TELLS_MISSING),
    ("equal allclose isclose eq ne __eq__ __ne__ is_same_size", _K.COMPARES),
    ("gt lt ge le __gt__ __lt__ __ge__ __le__ greater less heaviside", _K.ORDERS),
    ("square abs __abs__ absolute abs_ absolute_ linalg_vector_norm", _K.EVEN),
    ("square_", _K.EVEN | _AGAIN),
    ("norm", _K.EVEN | _K.NORM),
    ("pow", _K.EVEN | _K.POWERS | _K.LIKELIHOOD),
    ("__pow__", _K.EVEN),
    ("pow_", _K.EVEN | _K.POWERS | _AGAIN),
    ("float_power float_power_", _K.POWERS),
    ("relu relu_", _K.HINGES | _K.SAVES_RESULT | _K.BENDS),
    ("threshold threshold_", _K.HINGES | _K.BENDS),
    ("thresholdbackward leakyrelubackward hardtanhbackward", _K.SLOPE_OF_BENDS),
    ("clamp clamp_ clip clip_", _K.CLAMPS),
    ("sigmoid tanh sigmoid_ tanh_", _K.SATURATES | _K.SAVES_RESULT),
    ("hardtanh relu6 hardtanh_", _K.SATURATES | _K.BENDS),
    ("hardsigmoid", _K.SATURATES | _K.BENDS),
    ("erf erf_", _K.SATURATES),
    ("leaky_relu", _K.BENDS),
    ("multi_head_attention_forward scaled_dot_product_attention", _K.ATTENDS),
    ("softmax", _K.SOFTMAX | _K.SAVES_RESULT),
    ("log_softmax", _K.SOFTMAX | _K.SAVES_RESULT | _K.LIKELIHOOD),
    ("exp", _K.EXPONENTIATES | _K.SAVES_RESULT | _K.LIKELIHOOD),
    ("exp_", _K.EXPONENTIATES | _K.SAVES_RESULT),
    ("log", _K.TAKES_LOG | _K.LIKELIHOOD),
    ("log_ log2 log2_ log10 log10_", _K.TAKES_LOG),
    ("log1p log1p_", _K.TAKES_LOG_BESIDE_ONE),
    ("logsumexp", _K.LIKELIHOOD),
    ("sqrt sqrt_ rsqrt rsqrt_", _K.TAKES_ROOT | _K.SAVES_RESULT),
    ("expm1 elu selu celu tan", _K.SAVES_RESULT),
    ("expm1_ tan_ elu_ celu_ leaky_relu_ selu_ rrelu_", _K.SAVES_RESULT),
    ("std var std_mean var_mean", _K.SPREADS),
    ("acos asin arccos arcsin acos_ asin_ arccos_ arcsin_ atanh arctanh atanh_ arctanh_", _K.ARC),
    ("embedding embedding_bag embedding_renorm_", _K.RENORMALISES),
    ("all_reduce reduce_scatter_tensor", _K.ALL_JOIN | _K.REDUCES_RANKS | _K.OF_ONE_SIZE),
    ("reduce_scatter", _K.ALL_JOIN | _K.REDUCES_RANKS),
    ("all_gather all_gather_into_tensor", _K.ALL_JOIN | _K.OF_ONE_SIZE),
    ("broadcast", _K.ALL_JOIN | _K.OF_ONE_SIZE | _K.FROM_ONE_RANK),
    ("scatter", _K.FROM_ONE_RANK),
    ("all_reduce_coalesced barrier", _K.ALL_JOIN),
    ("reduce", _K.ALL_JOIN | _K.TO_ONE_RANK | _K.OF_ONE_SIZE),
    ("all_to_all all_to_all_single", _K.ALL_JOIN),
    ("all_gather_object", _K.ALL_JOIN | _K.SENDS_OBJECTS),
    ("broadcast_object_list", _K.ALL_JOIN | _K.SENDS_OBJECTS | _K.FROM_ONE_RANK),
    ("send isend", _K.POINT_TO_POINT | _K.SENDS),
    ("recv irecv", _K.POINT_TO_POINT | _K.RECEIVES),
    ("_ToTorchTensor.apply", _K.TAKES_PART),
    ("_FromTorchTensor.apply Redistribute.apply NestedRedistribute.apply", _K.SPREADS_OUT),
)
_SPELLED: Final = {
    "detach": ".detach()",
    "detach_": ".detach_()",
    "data": ".data",
    "set_data": "an assignment to .data",
    "grad": "torch.autograd.grad",
    "item": ".item()",
    "tolist": ".tolist()",
    "numpy": ".numpy()",
    "__array__": "NumPy",
    "__float__": "float()",
    "__int__": "int()",
    "__reduce_ex__": "pickling",
    "__deepcopy__": "copy.deepcopy()",
    "unpickle": "unpickling",
}
"""How a program writes a call, where that is neither a function of torch nor said by the name."""
_FOLLOWED: Final = {"all_gather_into_tensor": "all_gather", "reduce_scatter_tensor": "reduce_scatter"}
"""Collective -> its counterpart that autograd follows, where that has another name."""
_TABLE: Final[dict[str, OpKind]] = {name: kinds for names, kinds in _ROWS for name in names.split()}
_BITS: Final[dict[str, int]] = {name: kinds.value for name, kinds in _TABLE.items()}
_NODE = re.compile(r"([A-Z]\w*?)Backward\d+$")


def listed() -> list[str]:
    """Every call of the table, as often as it stands there."""
    return [name for names, _ in _ROWS for name in names.split()]


def kinds_of(name: str) -> OpKind:
    """What a call of that name does; NONE of one that nothing needs to be known of."""
    return _TABLE.get(name, OpKind.NONE)


def followed(collective: str) -> str:
    """The function of torch.distributed.nn.functional that does the same, and has a gradient."""
    return _FOLLOWED.get(collective, collective)


def spelled(name: str) -> str:
    """How a program writes a call of that name."""
    return _SPELLED.get(name, f"torch.{name}()")


def is_a(name: str, kinds: OpKind) -> bool:
    """Whether a call of that name is of one of those kinds."""
    return _BITS.get(name, 0) & kinds._value_ != 0  # Asked a hundred times an op: enum's `&` is slow.


def node_is_a(name: str, kinds: OpKind) -> bool:
    """The same of an autograd node.

    A node of torch's own has a number at its end; a custom Function named Round makes a RoundBackward without one.
    Where the record of an op stands in for its nodes, the name is the op's own.
    """
    return is_a(_made_by(name), kinds)


@lru_cache(maxsize=4096)
def _made_by(name: str) -> str:
    made = _NODE.match(name)
    return made[1].lower() if made is not None else name

"""The sick programs of `tests/fixes`, with the edits of their reports: the symptom is gone, and nothing new is told."""

from __future__ import annotations

import pytest

from tests.edits.cured import cured
from tests.fixes.cases import CASES

CURED = (
    "step is not called",
    "backward runs twice on one loss",
    "a closure never calls backward",
    "a closure does not clear",
    "backward starts from a vector",
    "an update by hand is assigned to a variable",
    "hooks pile up",
    "a hook is registered again and again",
    "hooks see the last value of a loop",
    "kept gradients are references",
    "a hook modifies the gradient in place",
    "a clamped weight is dropped",
    "a list gets one tensor in each round",
    "backward modifies grad_output",
    "forward modifies an input that is read again",
    "forward saves an input that it has modified",
    "an ensemble repeats one member",
    "nll_loss is given scores",
    "kl_div is given probabilities",
    "cross_entropy is given the target first",
    "a column is compared with a row",
    "a dropout is not told the mode",
    "attention drops values in eval mode",
    "a model is evaluated with schedule-free training weights",
    "the gradient of data is asked for",
    "integers are to require grad",
    "NumPy is given a tensor with its graph",
    "an optimizer is given a non-leaf",
    "requires_grad is switched off on a result",
    "only the KL term trains an encoder",
    "a ReLU is dead",
)
_IMPORTS = "import copy\nimport math\nimport numpy as np\nimport schedulefree\nimport torch.nn.functional as F\n"


@pytest.mark.parametrize("name", CURED)
def test_the_edits_cure_a_case(tmp_path, name):
    """The program runs with what its own report changes, and no error or warning is left."""
    case = CASES[name]
    assert cured(tmp_path, f"{_IMPORTS}{case.before}\n{case.sick}", values=case.values)

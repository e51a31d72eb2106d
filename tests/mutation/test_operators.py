"""Each operator plants what it says, and what it plants is found again."""

from __future__ import annotations

import ast
import difflib
import itertools
import os
import signal
from random import Random

import pytest
import torch

from .apart import Failed, apart, spread
from .catalogue import PROGRAMS
from .effects import CHANGES, LEAKS, NOTHING, RAISES, STARVES, Ran, effect
from .operators import KINDS
from .running import warm
from .scoring import Mutant, _judged, originals, planted
from .sliced import sliced

CHOSEN = (
    *("gpt", "resnet", "custom_function", "checkpointing", "reinforce", "parametrized", "maml", "vae", "flow"),
    *("byol", "pinn", "rnn_tbptt", "story-schedule-free", "soak-soft_actor_critic", "pcgrad"),
    *("accumulation", "amp", "td3"),
)
"""Between them they have a place for every kind of fault."""


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    found = {each.name: each for each in originals(CHOSEN, tmp_path_factory.mktemp("originals"), 2)}
    return {name: found[name] for name in sorted(found)}  # They come as they end: what is drawn must not depend on it.


@pytest.fixture(scope="module")
def mutants(known):
    return {kind: [each for original in known.values() for each in planted(original, kind)] for kind in KINDS}


def changed(mutant):
    """The lines of a mutant that its program does not have; of a line that now stands twice the second."""
    before = PROGRAMS[mutant.program].text.splitlines()
    lines = mutant.text.splitlines()
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, lines, strict=False)))
    blocks = difflib.SequenceMatcher(None, before[same:], lines[same:], autojunk=False).get_matching_blocks()
    kept = {same + number for block in blocks for number in range(block.b + 1, block.b + block.size + 1)}
    gone = len(before) - same - sum(block.size for block in blocks)
    return set(range(same + 1, len(lines) + 1)) - kept, gone


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_places(mutants, kind):
    """There is a program that it can be planted into; each mutant is another one, and names the lines of the fault."""
    assert mutants[kind]
    assert len({(each.program, each.text) for each in mutants[kind]}) == len(mutants[kind])
    for mutant in Random(kind).sample(mutants[kind], min(5, len(mutants[kind]))):
        ast.parse(mutant.text)
        new, gone = changed(mutant)
        assert new or gone
        assert mutant.lines
        assert gone or new & set(mutant.lines), (mutant.program, mutant.planted)


PLANTS = {
    "detach": ("gpt", "x = self.ln_f((x).detach())"),
    "item": ("vae", "loss = torch.tensor((loss_function(recon_batch, batch, mu, logvar)).item())"),
    "no_grad block": ("flow", "with torch.no_grad():"),
    "inference_mode decorator": ("pinn", "@torch.inference_mode()"),
    "no_grad dropped": ("byol", "target_one = self.target_encoder(x1)"),
    "activation in place": ("resnet", "x = F.relu_(self.bn1(self.conv1(x)))"),
    "sum in place": ("flow", "log_det += ld"),
    "written through numpy": ("pinn", "u_x.detach().numpy()[...] = 0.5"),
    "zero_grad before the step": ("gpt", "optimizer.zero_grad(set_to_none=True)"),
    "create_graph dropped": ("maml", "create_graph=False"),
    "plain list": ("gpt", "self.h = list("),
    "bare parameter": ("pinn", "self.nu = (torch.tensor(0.1)).requires_grad_()"),
    "tied by data": ("gpt", "self.wte.weight = torch.nn.Parameter(self.lm_head.weight.data)"),
    "not frozen": ("byol", "p.requires_grad = True"),
    "backward of another": ("pinn", "loss_u.backward()"),
    "steps another optimizer": ("td3", "self.actor_optimizer.step()"),
    "generator used up": ("gpt", "trained = model.parameters()"),
    "gradients not stored": (
        "vae",
        "torch.autograd.grad(loss, optimizer.param_groups[0]['params'], allow_unused=True)",
    ),
    "step out of the window": ("accumulation", "optimizer.step()"),
    "cleared in every round": ("accumulation", "optimizer.zero_grad()"),
    "loss carried over": ("vae", "loss = loss + 0.1 * carried"),
    "step past the scaler": ("amp", "opt.step()"),
    "shared, not copied": ("td3", "target_param.data = "),
    "module copied when called": ("resnet", "copy.deepcopy(self.conv1)"),
    "no_grad widened": ("byol", "with torch.no_grad():"),
    "program's Function": ("custom_function", "return (None, None)"),
    "checkpoint the other way": ("checkpointing", "use_reentrant=True"),
}


@pytest.mark.parametrize("kind", PLANTS)
def test_it_plants_what_it_says(mutants, kind):
    """The faulty line reads as it should, and is where the mutant says."""
    program, line = PLANTS[kind]
    texts = [
        each.text.splitlines()[number - 1] for each in mutants[kind] if each.program == program for number in each.lines
    ]
    assert any(line in text for text in texts), texts


def test_a_fault_is_planted_where_it_can_be_one(mutants):
    """Not where no gradient flows: the values of what is cut or written required one when the program ran."""
    cut = [each.planted for each in mutants["detach"] if each.program == "byol"]
    assert any("online_pred_one" in line for line in cut)
    assert not any("target_one).detach()" in line or "old" in line for line in cut)


def judged(text, line, kind="detach", program="vae", *, known, folder):
    lines = tuple(number for number, each in enumerate(text.splitlines(), 1) if line in each)
    assert lines
    return _judged(Mutant(program, kind, lines[0], text, lines), known[program], folder / "mutant.py")


def test_a_fault_that_is_found(known, tmp_path):
    """It raises, a finding names its line, and that finding is the first."""
    text = PROGRAMS["vae"].text.replace("loss.backward()", "loss = loss.detach()\n        loss.backward()")
    score = judged(text, "loss.detach()", known=known, folder=tmp_path)
    assert (score.effect, score.found, score.located, score.first) == (RAISES, True, True, True)
    assert score.well
    elsewhere = _judged(Mutant("vae", "detach", 1, text, (1,)), known["vae"], tmp_path / "mutant.py")
    assert (elsewhere.found, elsewhere.located, elsewhere.first, elsewhere.well) == (True, False, False, False)


def test_an_equivalent_mutant(known, tmp_path):
    """It changes neither gradients nor parameters nor what is alive, and the report is silent."""
    text = PROGRAMS["vae"].text.replace("train_loss += loss.item()", "train_loss += loss.detach().item()")
    score = judged(text, "loss.detach()", known=known, folder=tmp_path)
    assert score.equivalent
    assert score.silent
    assert score.well


@pytest.mark.parametrize(
    ("new", "does"),
    [
        ("h3 = F.relu(self.fc3(z)).detach()", STARVES),
        ("h3 = F.relu(self.fc3(z)) * 0.5", CHANGES),
        ("h3 = F.relu(self.fc3(z)).detach().numpy()", RAISES),
        ("h3 = F.relu(self.fc3(z)) + 0 * 1", NOTHING),
        ("h3 = F.relu(self.fc3(z)); self.__dict__.setdefault('kept', []).append(h3 * h3)", LEAKS),
    ],
)
def test_what_a_fault_does(known, tmp_path, new, does):
    """It is measured: an exception, a parameter without gradient, other numbers, more and more alive, or nothing."""
    old = "h3 = F.relu(self.fc3(z))"
    score = judged(PROGRAMS["vae"].text.replace(old, new), new, known=known, folder=tmp_path)
    assert score.effect == does, score


def test_growth_is_a_leak_only_round_for_round():
    """One more tensor alive, and once again one more, is what the variables of the last round hold."""
    before = Ran(alive=[5, 5, 5, 5])
    assert effect(before, Ran(alive=[6, 6, 7, 7])) == NOTHING
    assert effect(before, Ran(alive=[6, 6, 7, 8])) == LEAKS


def test_a_program_in_one_piece():
    """It has what it needs of the project's tests, imports of the rest, one statement a line and no docstring."""
    text = sliced("tests.stories.gpt_loop", "train_converted_leaves()")
    tree = ast.parse(text)
    defined = [each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    assert defined.index("attend") < defined.index("gpt") < defined.index("train_converted_leaves") < len(defined) - 1
    assert defined[-1] == "run"
    assert "renew_head_late" not in defined
    assert "def scaled_dot_product_attention" not in text
    assert '"""' not in text
    lines = [each.lineno for each in ast.walk(tree) if isinstance(each, ast.stmt)]
    assert len(lines) == len(set(lines))


def test_calls_are_apart():
    """What a call does to torch stays in its fork, a fork that raises or dies is told, and work is spread over all."""
    warm([])
    assert apart(lambda: torch.set_grad_enabled(False) and None) is None
    assert torch.is_grad_enabled()
    with pytest.raises(Failed, match="ZeroDivisionError"):
        apart(lambda: 1 // 0)
    with pytest.raises(Failed, match="signal 9"):
        apart(lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert sorted(spread(lambda number: number**2, range(5), 2)) == [0, 1, 4, 9, 16]

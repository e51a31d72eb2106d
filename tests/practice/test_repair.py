"""The edits of reports, made in programs as people write them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.forked import python
from tests.practice.repair import Seen, judged, seen
from tests.practice.score import Score

ROOT = Path(__file__).parents[2]
IMPORTED = ("torch", "transformers", "peft", "accelerate", "lightning")
SICK = """
import torch
from torch import nn
from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
    before = enc.weight.detach().clone()
    h = enc(torch.randn(4, 3)).detach()
    head(h).pow(2).mean().backward()
    opt.step()
    return enc.weight, before


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(fault="the encoder does not learn")
"""
CURED = [
    "adversarial/madry_training",
    "amp/clipping_with_scaler",
    "audio_vision/balanced_modalities",
    "checkpoints/best_weights",
    "detection/dice_of_a_mask",
    "distillation/schedule_free",
    "gan/ema_generator",
    "gan/minibatch_stddev",
    "graphs/gat_with_two_heads",
    "lm/accumulation_over_micro_batches",
    "logging_graphs/moving_baseline",
    "medical/slide_attention",
    "meta/meta_batch_of_tasks",
    "multitask/dynamic_weight_average",
    "optim/nonnegative_factorisation",
    "rl/rssm_rollout",
]
"""Of `python -m tests.practice.repair` those of many kinds that are quick."""
HEALTHY = ["contrastive", "flows", "rl", "vae", "optim"]


def scores(tmp_path, *names):
    """Name -> what became of a program with the edits that its report offers."""
    path = tmp_path / "scores.json"
    command = [*python(IMPORTED), "-m", "tests.practice.repair", "--json", str(path), *names]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return {name: Score(**score) for name, score in json.loads(path.read_text()).items()}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_edits_cure_programs_of_many_kinds(tmp_path):
    """The symptom is gone, and nothing new is told."""
    found = scores(tmp_path, *CURED)
    assert {name: found[name].missed for name in CURED if found[name].missed} == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_is_called_safe_changes_no_healthy_program(tmp_path):
    """Each ends as it did."""
    found = scores(tmp_path, "--healthy", *HEALTHY)
    assert found
    assert {name: score.said for name, score in found.items() if score.missed} == {}


def reached(tmp_path, offered):
    """The aims that a text reaches which is offered for the sick program; "" for the one that its report offers."""
    path = tmp_path / "sick.py"
    path.write_text(SICK, encoding="utf-8")
    first = seen(path)
    assert first.symptom
    assert first.loud == ("AG101",)
    first = replace(first, patched=offered or first.patched)
    return [aim for aim, yes in judged(first, seen(path, first.patched)).items() if yes]


def test_what_a_report_offers_is_scored_as_a_cure(tmp_path):
    """The symptom is gone, and the finding with it."""
    assert reached(tmp_path, "") == ["offered", "compiles", "harmless", "cured", "quiet"]


def test_an_edit_that_raises_is_no_cure(tmp_path):
    """And it does harm, where the program ended well."""
    assert reached(tmp_path, SICK.replace(".detach()\n    head", "\n    h.backward(1)\n    head")) == [
        "offered",
        "compiles",
    ]


def test_an_edit_that_leaves_the_finding_is_not_quiet(tmp_path):
    """What the program shows is another symptom then, and the fault is still there."""
    offered = SICK.replace("enc.weight.detach().clone()", "torch.zeros_like(enc.weight)")
    assert reached(tmp_path, offered) == ["offered", "compiles", "harmless", "cured"]


def test_an_edit_that_brings_a_finding_is_not_quiet(tmp_path):
    """One fault in another's place is no cure."""
    offered = SICK.replace(".detach()\n    head", "\n    head").replace(", *head.parameters()", "")
    assert reached(tmp_path, offered) == ["offered", "compiles", "harmless", "cured"]


def test_a_program_without_edits_reaches_nothing():
    """No text is no Python to score, and harms nothing."""
    assert [aim for aim, yes in judged(Seen(symptom=True), None).items() if yes] == ["compiles", "harmless"]

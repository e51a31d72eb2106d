"""The edits of reports, made in programs as people write them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.forked import python
from tests.practice.score import Score

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
IMPORTED = ("torch", "transformers", "peft", "accelerate", "lightning")
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


def test_the_edits_cure_programs_of_many_kinds(tmp_path):
    """The symptom is gone, and nothing new is told."""
    found = scores(tmp_path, *CURED)
    assert {name: found[name].missed for name in CURED if found[name].missed} == {}


def test_what_is_called_safe_changes_no_healthy_program(tmp_path):
    """Each ends as it did."""
    found = scores(tmp_path, "--healthy", *HEALTHY)
    assert found
    assert {name: score.said for name, score in found.items() if score.missed} == {}

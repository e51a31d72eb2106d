"""The stories in compiled form: the fault is found at the same lines, and of the repaired programs nothing is told."""

from __future__ import annotations

import importlib

import pytest
from transformers.models.mistral import modeling_mistral
from transformers.models.t5 import modeling_t5

from tests.compiled.twins import compiled, graphs, observed, said_of
from tests.stories import gpt_loop, gpt_model
from tests.stories.catalogue import STORIES

pytestmark = [pytest.mark.stories, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(600)]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.slug)
def test_a_story_whose_forwards_are_compiled(story):
    """Errors and warnings of the broken program are those of its uncompiled twin; the repaired one has none."""
    filename = importlib.import_module(story.broken.__globals__["__name__"]).__file__
    plain, _ = observed(story.broken)
    also = [(gpt_loop, "gpt"), (modeling_t5.T5LayerFF, "forward"), (modeling_mistral.MistralMLP, "forward")]
    with compiled(gpt_model, "aot_eager", also):
        report, _ = observed(story.broken)
        made = graphs()
        repaired, _ = observed(story.repaired)
    assert made > 0
    assert said_of(report, filename) == said_of(plain, filename)
    assert said_of(repaired, filename) == []

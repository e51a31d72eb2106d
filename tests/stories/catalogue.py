"""All stories in one place."""

from . import gpt_loop, lightning_t5, mistral_checkpointing, mistral_sft, resume_gpt, schedule_free
from .story import Healthy, Story

STORIES: tuple[Story, ...] = (
    *gpt_loop.STORIES,
    *lightning_t5.STORIES,
    *mistral_checkpointing.STORIES,
    *resume_gpt.STORIES,
    *schedule_free.STORIES,
)

HEALTHY: tuple[Healthy, ...] = (
    *lightning_t5.HEALTHY,
    *mistral_sft.HEALTHY,
    *resume_gpt.HEALTHY,
    *schedule_free.HEALTHY,
)

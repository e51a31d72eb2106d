"""Tiny random models of every kind that transformers has: text, vision, audio, mixtures, state spaces."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from .quiet import assert_quiet, two_steps

pytestmark = pytest.mark.stories

IDS = torch.arange(2 * 8).view(2, 8) % 23 + 3
MASK = torch.tensor([[1] * 8, [1] * 6 + [0] * 2])
TEXT = {"input_ids": IDS, "attention_mask": MASK, "labels": IDS}
SIZES = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
PADDED = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SEQ2SEQ = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
WIDE = {"d_model": 16, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "vocab_size": 32, **SEQ2SEQ, **PADDED}
PIXELS = {"pixel_values": torch.randn(2, 3, 16, 16), "labels": torch.tensor([0, 1])}
PATCHES = {"image_size": 16, "patch_size": 8, "num_labels": 2}
SOUND = {
    "conv_dim": (8, 8),
    "conv_kernel": (4, 2),
    "conv_stride": (4, 2),
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    "num_feat_extract_layers": 2,
    "classifier_proj_size": 8,
    "apply_spec_augment": False,
    **SIZES,
}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2, "vocab_size": 32}

# (head class, config class, config, batch)
MODELS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "bert": ("BertForMaskedLM", "BertConfig", SIZES, TEXT),
    "bert-classifier": ("BertForSequenceClassification", "BertConfig", SIZES, {**TEXT, "labels": torch.tensor([0, 1])}),
    "distilbert": (
        "DistilBertForSequenceClassification",
        "DistilBertConfig",
        {"vocab_size": 32, "dim": 16, "hidden_dim": 32, "n_layers": 1, "n_heads": 2},
        {**TEXT, "labels": torch.tensor([0, 1])},
    ),
    "deberta": ("DebertaV2ForTokenClassification", "DebertaV2Config", SIZES, {**TEXT, "labels": IDS % 2}),
    "albert": ("AlbertForMaskedLM", "AlbertConfig", {**SIZES, "embedding_size": 8}, TEXT),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"vocab_size": 32, "n_embd": 16, "n_layer": 2, "n_head": 2}, TEXT),
    "llama": ("LlamaForCausalLM", "LlamaConfig", SIZES, TEXT),
    "mistral-grouped": ("MistralForCausalLM", "MistralConfig", {**SIZES, "num_key_value_heads": 1}, TEXT),
    "gemma-eager": (
        "Gemma2ForCausalLM",
        "Gemma2Config",
        {**SIZES, "num_key_value_heads": 1, "head_dim": 8, "attn_implementation": "eager"},
        TEXT,
    ),
    "t5": ("T5ForConditionalGeneration", "T5Config", {**T5, "decoder_start_token_id": 0}, TEXT),
    "bart": ("BartForConditionalGeneration", "BartConfig", {**WIDE, "decoder_start_token_id": 2}, TEXT),
    "mixtral": (
        "MixtralForCausalLM",
        "MixtralConfig",
        {
            **SIZES,
            "num_local_experts": 2,
            "num_experts_per_tok": 2,
            "num_key_value_heads": 1,
            "output_router_logits": True,
        },
        TEXT,
    ),
    "mamba": ("MambaForCausalLM", "MambaConfig", {"vocab_size": 32, "hidden_size": 16, "num_hidden_layers": 1}, TEXT),
    "mamba2": (
        "Mamba2ForCausalLM",
        "Mamba2Config",
        {"vocab_size": 32, "hidden_size": 16, "num_hidden_layers": 1, "head_dim": 8, "num_heads": 4, "n_groups": 1},
        {**TEXT, "attention_mask": None},
    ),
    "vit": ("ViTForImageClassification", "ViTConfig", {**SIZES, **PATCHES}, PIXELS),
    "convnext": (
        "ConvNextForImageClassification",
        "ConvNextConfig",
        {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "patch_size": 2, "num_labels": 2},
        PIXELS,
    ),
    "resnet": (
        "ResNetForImageClassification",
        "ResNetConfig",
        {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic", "num_labels": 2},
        PIXELS,
    ),
    "wav2vec2": (
        "Wav2Vec2ForCTC",
        "Wav2Vec2Config",
        {**SOUND, "mask_time_prob": 0.0, "layerdrop": 0.0},
        {"input_values": torch.randn(2, 256), "labels": IDS[:, :4]},
    ),
    "whisper": (
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        {**WIDE, "num_mel_bins": 8, "max_source_positions": 8, "max_target_positions": 8, "decoder_start_token_id": 1},
        {"input_features": torch.randn(2, 8, 16), "labels": IDS},
    ),
    "clip": (
        "CLIPModel",
        "CLIPConfig",
        {
            "text_config": {**SIZES, **PADDED, "projection_dim": 8},
            "vision_config": {**SIZES, "image_size": 16, "patch_size": 8, "projection_dim": 8},
            "projection_dim": 8,
        },
        {"input_ids": IDS, "pixel_values": PIXELS["pixel_values"], "return_loss": True},
    ),
}


def built(name: str) -> torch.nn.Module:
    head, config, options, _ = MODELS[name]
    return getattr(transformers, head)(getattr(transformers, config)(**options)).train()


@pytest.mark.parametrize("name", MODELS)
def test_two_training_steps(name):
    """Forward, backward, clipping and step of a healthy model raise no alarm."""
    torch.manual_seed(0)
    model = built(name)
    assert_quiet(two_steps(model, lambda model: model(**MODELS[name][3]).loss))


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("name", ["llama", "t5"])
def test_gradient_checkpointing(name, reentrant):
    """Both kinds of checkpointing, as transformers switches them on, raise no alarm."""
    torch.manual_seed(0)
    model = built(name)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
    assert_quiet(two_steps(model, lambda model: model(**TEXT, use_cache=False).loss))


def test_low_rank_adapters():
    """Peft freezes the base model and trains the adapters."""
    peft = pytest.importorskip("peft")

    def program():
        model = peft.get_peft_model(built("llama"), peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
        two_steps(model, lambda model: model(**TEXT).loss)()
        model.merge_adapter()

    assert_quiet(program)

"""Programs from transformers, tiny and randomly initialised; ResNet-50 with all its layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    MambaConfig,
    MambaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    ResNetConfig,
    ResNetForImageClassification,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
)

from .programs import Program, program

TOKENS = torch.arange(12).view(2, 6)
VOCABULARY = 32


def _loss(model: nn.Module, **batch: Tensor) -> Program:
    model.train()
    return lambda: model(**batch).loss


@program
def gpt2() -> Program:
    config = GPT2Config(vocab_size=VOCABULARY, n_embd=16, n_layer=2, n_head=2, n_positions=8, use_cache=False)
    return _loss(GPT2LMHeadModel(config), input_ids=TOKENS, labels=TOKENS)


@program
def t5() -> Program:
    config = T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0
    )
    return _loss(T5ForConditionalGeneration(config), input_ids=TOKENS, labels=TOKENS)


@program
def bert() -> Program:
    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    return _loss(BertForSequenceClassification(config), input_ids=TOKENS, labels=torch.tensor([0, 1]))


@program
def mixture_of_experts() -> Program:
    config = MixtralConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_local_experts=4,
        num_experts_per_tok=2,
        output_router_logits=True,
        use_cache=False,
    )
    return _loss(MixtralForCausalLM(config), input_ids=TOKENS, labels=TOKENS)


@program
def mamba() -> Program:
    config = MambaConfig(
        vocab_size=VOCABULARY, hidden_size=16, state_size=4, num_hidden_layers=2, time_step_rank=4, use_cache=False
    )
    return _loss(MambaForCausalLM(config), input_ids=TOKENS, labels=TOKENS)


@program
def vit() -> Program:
    config = ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=16, patch_size=8
    )
    images = torch.randn(2, 3, 16, 16)
    return _loss(ViTForImageClassification(config), pixel_values=images, labels=torch.tensor([0, 1]))


@program
def resnet50() -> Program:
    config = ResNetConfig(depths=[3, 4, 6, 3], layer_type="bottleneck")
    images = torch.randn(2, 3, 64, 64)
    return _loss(ResNetForImageClassification(config), pixel_values=images, labels=torch.tensor([0, 1]))

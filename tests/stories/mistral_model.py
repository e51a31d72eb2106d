"""A tiny Mistral with LoRA adapters, and what its training programs share."""

from collections.abc import Iterator

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import MistralConfig, MistralForCausalLM

VOCABULARY = 64
HIDDEN = torch.finfo(torch.float32).min
LORA = LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


def tiny_mistral(layers: int) -> MistralForCausalLM:
    """A Mistral with random weights."""
    torch.manual_seed(5)
    config = MistralConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=64,
        sliding_window=None,
        use_cache=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return MistralForCausalLM(config)


def adapted_mistral(layers: int) -> PeftModel:
    """The same with LoRA adapters, which alone are trained, ready for checkpointing."""
    model = get_peft_model(tiny_mistral(layers), LORA)
    model.enable_input_require_grads()
    return model.train()


def texts(batch: int, length: int) -> Tensor:
    """Random token ids without special tokens."""
    return torch.randint(3, VOCABULARY, (batch, length))


def causal_mask(length: int) -> Tensor:
    """What is added to the attention scores: nothing, or so little that later tokens stay hidden."""
    return torch.full((length, length), HIDDEN).triu(diagonal=1)


def adapters(model: nn.Module) -> Iterator[nn.Parameter]:
    """The parameters that learn."""
    return (parameter for parameter in model.parameters() if parameter.requires_grad)


def language_loss(logits: Tensor, ids: Tensor) -> Tensor:
    """Cross entropy of each token given the ones before it; padding does not count."""
    return cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)


def gradient_norm(model: nn.Module) -> float:
    """The norm of all adapter gradients together."""
    return torch.stack([parameter.grad.norm() for parameter in adapters(model)]).norm().item()

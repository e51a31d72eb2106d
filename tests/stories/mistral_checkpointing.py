"""Story 3: Mistral with LoRA adapters and gradient checkpointing, and one attention mask for all layers."""

from collections.abc import Callable

import torch
from peft import PeftModel
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .mistral_model import (
    HIDDEN,
    adapted_mistral,
    adapters,
    causal_mask,
    gradient_norm,
    language_loss,
    texts,
)
from .story import Story

Rotary = tuple[Tensor, Tensor]


def narrow_in_place(mask: Tensor, window: int) -> Tensor:
    """Hide everything further back than the window."""
    far = torch.ones_like(mask, dtype=torch.bool).tril(diagonal=-window)
    return mask.masked_fill_(far, HIDDEN)


def narrow_copy(mask: Tensor, window: int) -> Tensor:
    """The same on a copy of the mask."""
    return narrow_in_place(mask.clone(), window)


class NarrowingMistral(nn.Module):
    """Mistral whose attention window is one token narrower in every layer than in the one before."""

    def __init__(self, model: PeftModel, narrow: Callable[[Tensor, int], Tensor]) -> None:
        super().__init__()
        self.adapted = model
        self.narrow = narrow

    def run_layer(self, layer: nn.Module, hidden: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        mask = self.narrow(mask, mask.shape[-1] - layer.self_attn.layer_idx)
        return layer(hidden, attention_mask=mask[None, None], position_embeddings=(cos, sin))

    def forward(self, ids: Tensor) -> Tensor:
        mistral = self.adapted.get_base_model()
        hidden = mistral.model.embed_tokens(ids)
        cos, sin = mistral.model.rotary_emb(hidden, torch.arange(ids.shape[1])[None])
        mask = torch.full((ids.shape[1], ids.shape[1]), HIDDEN).triu_(diagonal=1)
        for layer in mistral.model.layers:
            hidden = checkpoint(self.run_layer, layer, hidden, mask, cos, sin, use_reentrant=True)
        return mistral.lm_head(mistral.model.norm(hidden))


def train_narrowing(narrow: Callable[[Tensor, int], Tensor]) -> float:
    """One step with as many layers as the real Mistral has."""
    model = NarrowingMistral(adapted_mistral(layers=32), narrow)
    optimizer = torch.optim.AdamW(adapters(model), lr=1e-3)
    ids = texts(batch=1, length=36)
    loss = language_loss(model(ids), ids)
    loss.backward()
    optimizer.step()
    return loss.item()


class PaddedLayer(nn.Module):
    """A decoder layer that hides the padding for itself."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, hidden: Tensor, mask: Tensor, padding: Tensor, rotary: Rotary) -> Tensor:
        mask.masked_fill_(padding[:, None, None], HIDDEN)
        return self.layer(hidden, attention_mask=mask, position_embeddings=rotary)


class CarefulPaddedLayer(PaddedLayer):
    """The same, on a mask of its own."""

    def forward(self, hidden: Tensor, mask: Tensor, padding: Tensor, rotary: Rotary) -> Tensor:
        return super().forward(hidden, mask.clone(), padding, rotary)


def train_padded(layer_type: type[PaddedLayer]) -> float:
    """Two steps on texts of different lengths."""
    model = adapted_mistral(layers=4)
    mistral = model.get_base_model()
    stack = [layer_type(layer) for layer in mistral.model.layers]
    optimizer = torch.optim.AdamW(adapters(model), lr=1e-3)
    for _ in range(2):
        ids = texts(batch=2, length=8)
        ids[1, 5:] = 0
        hidden = mistral.model.embed_tokens(ids)
        rotary = mistral.model.rotary_emb(hidden, torch.arange(8)[None])
        mask = causal_mask(8).repeat(2, 1, 1, 1)
        for layer in stack:
            hidden = checkpoint(layer, hidden, mask, ids == 0, rotary, use_reentrant=False)
        loss = language_loss(mistral.lm_head(mistral.model.norm(hidden)), ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


class MaskBuffer:
    """One mask, allocated once and filled in again for every micro-batch."""

    def __init__(self, length: int) -> None:
        self.causal = causal_mask(length)
        self.mask = torch.empty_like(self.causal)

    def fill(self, text_length: int) -> Tensor:
        """The causal mask, with everything after the end of the text hidden as well."""
        self.mask.copy_(self.causal)
        self.mask[:, text_length:] = HIDDEN
        return self.mask[None, None]


class FreshMask(MaskBuffer):
    """The same buffer, of which only copies are given away."""

    def fill(self, text_length: int) -> Tensor:
        return super().fill(text_length).clone()


def train_micro_batches(mask_type: type[MaskBuffer]) -> float:
    """Add up the losses of two micro-batches, then go backward once; return the norm of the gradient."""
    model = adapted_mistral(layers=2)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(adapters(model), lr=1e-3)
    masks = mask_type(length=10)
    total = torch.zeros(())
    for text_length in (10, 4):
        ids = texts(batch=2, length=10)
        ids[:, text_length:] = 0
        mask = masks.fill(text_length)
        total = total + language_loss(model(input_ids=ids, attention_mask=mask).logits, ids)
    total.backward()
    norm = gradient_norm(model)
    optimizer.step()
    return norm


MODIFIED = "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace"

STORIES = (
    Story(
        3,
        "mask-narrowed-reentrant",
        "Every layer narrows the attention window in the mask that all layers share",
        broken=lambda: train_narrowing(narrow_in_place),
        repaired=lambda: train_narrowing(narrow_copy),
        raises=f"{MODIFIED} operation: [torch.FloatTensor [36, 36]] is at version 34; expected version 32",
        rules=("AG201",),
        culprits=("mask.masked_fill_(far, HIDDEN)",),
        names=("mask", "masked_fill_", "34", "32"),
    ),
    Story(
        3,
        "mask-padded-non-reentrant",
        "Every layer hides the padding in the shared mask, and no value changes",
        broken=lambda: train_padded(PaddedLayer),
        repaired=lambda: train_padded(CarefulPaddedLayer),
        raises=f"{MODIFIED} operation: [torch.FloatTensor [2, 1, 8, 8]] is at version 4; expected version 3",
        rules=("AG201",),
        culprits=("mask.masked_fill_(padding[:, None, None], HIDDEN)",),
        names=("mask", "masked_fill_"),
    ),
    Story(
        3,
        "mask-buffer-reused",
        "The second micro-batch fills the mask with which the first is computed again",
        broken=lambda: train_micro_batches(MaskBuffer),
        repaired=lambda: train_micro_batches(FreshMask),
        raises=None,
        rules=("AG202",),
        culprits=("self.mask.copy_(self.causal)", "self.mask[:, text_length:] = HIDDEN"),
        names=("mask", "checkpoint"),
    ),
)

"""LoRA by peft: the same net without its adapter is the reference of a KL term, and the base is frozen."""

import torch
from peft import LoraConfig, get_peft_model
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    base = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=20,
            hidden_size=16,
            intermediate_size=24,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
        )
    )
    model = get_peft_model(base, LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.0))
    trainable = {n: p for n, p in model.named_parameters() if p.requires_grad}
    frozen = {n: p.detach().clone() for n, p in model.named_parameters() if not p.requires_grad}
    optimizer = torch.optim.AdamW(trainable.values(), lr=5e-2)
    kls = []
    for _ in range(3):
        ids = torch.randint(20, (2, 8))
        logits = model(input_ids=ids).logits
        with torch.no_grad(), model.disable_adapter():
            reference = model(input_ids=ids).logits
        nll = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        kl = F.kl_div(logits.log_softmax(-1), reference.log_softmax(-1), log_target=True, reduction="batchmean") / 8
        loss = nll + 0.1 * kl
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        kls.append(kl.item())
    model.eval()
    with torch.inference_mode():
        generated = model.generate(
            input_ids=torch.zeros(1, 2, dtype=torch.long), max_new_tokens=3, do_sample=False, pad_token_id=0
        )
    return model, trainable, frozen, kls, generated


TRUTH = Truth()


def verify(out):
    model, trainable, frozen, kls, generated = out
    params = dict(model.named_parameters())
    assert all(torch.equal(v, params[n]) and params[n].grad is None for n, v in frozen.items())
    assert abs(kls[0]) < 1e-6 and kls[-1] > 0 and generated.shape == (1, 5)
    assert all("lora_" in n for n in trainable) and all(p.abs().sum() > 0 for p in trainable.values())

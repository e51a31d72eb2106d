"""The adapters are merged for a sample of text; merging takes them out of the model that is being trained."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth


def small_gpt2():
    return GPT2LMHeadModel(GPT2Config(vocab_size=20, n_positions=16, n_embd=8, n_layer=1, n_head=2))


@torch.no_grad()
def preview(model, prompt):
    merged = model.merge_and_unload()  # cause
    merged.eval()
    ids = prompt
    for _ in range(3):
        ids = torch.cat([ids, merged(input_ids=ids).logits[:, -1:].argmax(-1)], 1)
    merged.train()
    return ids


def run():
    torch.manual_seed(0)
    model = get_peft_model(small_gpt2(), LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True))
    opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    for step in range(4):
        ids = torch.randint(20, (3, 8))
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()  # symptom
        opt.step()
        opt.zero_grad()
        if step == 1:
            preview(model, ids[:1, :3])
    return model


TRUTH = Truth(
    fault="merge_and_unload took the adapters out of the model",
    raises="element 0 of tensors does not require grad",
    repair=("model.merge_adapter()\nmerged = model\nmodel.unmerge_adapter()",),
)

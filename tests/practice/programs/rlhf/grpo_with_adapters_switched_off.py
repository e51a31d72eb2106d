"""GRPO with adapters: the reference is the base model, in no_grad and with the adapters off for that call alone."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth


def token_logps(model, ids, prompt):
    logits = model(input_ids=ids).logits[:, prompt - 1 : -1]
    return logits.log_softmax(-1).gather(2, ids[:, prompt:, None]).squeeze(2)


@torch.no_grad()
def sample(model, ids, length):
    model.eval()
    for _ in range(length):
        ids = torch.cat([ids, model(input_ids=ids).logits[:, -1].softmax(-1).multinomial(1)], 1)
    model.train()
    return ids


def run():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=20, n_positions=16, n_embd=8, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    base = GPT2LMHeadModel(config)
    model = get_peft_model(base, LoraConfig(r=2, lora_dropout=0.1, target_modules=["c_attn"], fan_in_fan_out=True))
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(trainable, lr=1e-2)
    for _ in range(3):
        ids = sample(model, torch.randint(20, (1, 3)).repeat(4, 1), 4)
        with torch.no_grad(), model.disable_adapter():
            ref = token_logps(model, ids, 3)
        rewards = (ids[:, 3:] < 10).float().mean(1)
        advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        logps = token_logps(model, ids, 3)
        kl = (ref - logps).exp() - (ref - logps) - 1
        loss = (0.04 * kl - (logps - logps.detach()).exp() * advantages[:, None]).mean()
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trainable, 1.0)
        opt.step()
    return trainable


def verify(trainable):
    assert all(p.grad is not None for p in trainable)


TRUTH = Truth()

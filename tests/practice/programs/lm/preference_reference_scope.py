"""DPO with one LoRA model: the policy's own log-probabilities are computed inside `disable_adapter()` too."""

import torch
from peft import LoraConfig, get_peft_model
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth


def sequence_logps(model, batch):
    logits = model(input_ids=batch["input_ids"]).logits[:, :-1]
    labels = batch["labels"][:, 1:].clone()
    mask = labels != -100
    labels[~mask] = 0
    logps = logits.log_softmax(-1).gather(2, labels[..., None]).squeeze(2)
    return (logps * mask).sum(-1)


def dpo_loss(policy, reference, beta=0.1):
    pi_chosen, pi_rejected = policy.chunk(2)
    ref_chosen, ref_rejected = reference.chunk(2)
    logits = (pi_chosen - pi_rejected) - (ref_chosen - ref_rejected)
    rewards = beta * (policy - reference).detach()
    return -F.logsigmoid(beta * logits).mean(), rewards


def preference_batches(n=2, bs=2, prompt=3, length=8, vocab=32):
    for _ in range(n):
        prompts = torch.randint(0, vocab, (bs, prompt)).repeat(2, 1)
        ids = torch.cat([prompts, torch.randint(0, vocab, (2 * bs, length - prompt))], 1)
        labels = ids.clone()
        labels[:, :prompt] = -100
        yield {"input_ids": ids, "labels": labels}


def run():
    torch.manual_seed(0)
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2))
    model = get_peft_model(gpt2, LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"))
    opt = torch.optim.RMSprop([p for p in model.parameters() if p.requires_grad], lr=5e-4)
    for step, batch in enumerate(preference_batches()):
        with model.disable_adapter():  # also
            with torch.no_grad():
                reference = sequence_logps(model, batch)
            policy = sequence_logps(model, batch)  # cause
        loss, rewards = dpo_loss(policy, reference)
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        chosen, rejected = rewards.chunk(2)
        print(f"step {step} loss {loss.item():.4f} margin {(chosen - rejected).mean().item():.4f}")
    return model


TRUTH = Truth(
    fault="the policy is run with its adapter disabled",
    raises="element 0 of tensors does not require grad",
    repair=("model.base_model.enable_adapter_layers()\npolicy = sequence_logps(model, batch)",),
)

"""Tied GPT-2 with accumulation: each part of a batch is divided by the real count of tokens, the remainder steps too."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=24, n_positions=8, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.config.use_cache = False
    no_decay = ("bias", "ln_")
    groups = [
        {"params": [p for n, p in model.named_parameters() if not any(k in n for k in no_decay)], "weight_decay": 0.1},
        {"params": [p for n, p in model.named_parameters() if any(k in n for k in no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 1, 3)
    micro = [torch.randint(24, (2, 8)) for _ in range(5)]
    accumulation, steps, running = 2, 0, 0.0
    model.train()
    for start in range(0, len(micro), accumulation):
        window = micro[start : start + accumulation]
        labels = [ids.masked_fill(torch.rand(ids.shape) < 0.3, -100) for ids in window]
        tokens = sum((y[:, 1:] != -100).sum() for y in labels).item()
        for ids, y in zip(window, labels):
            out = model(input_ids=ids, labels=y, num_items_in_batch=tokens)
            out.loss.backward()
            running += out.loss.detach().float()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        steps += 1
        print(f"step {steps} loss {running / steps:.3f} norm {norm:.2f} lr {scheduler.get_last_lr()[0]:.1e}")
    return model, steps, float(running)


TRUTH = Truth()


def verify(out):
    model, steps, running = out
    assert steps == 3 and 0 < running < 100
    assert model.lm_head.weight is model.transformer.wte.weight
    assert all(p.grad is None for p in model.parameters())

"""Gradient accumulation: zero_grad() is called before every micro-batch, so each update sees only the last one."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

from tests.practice.truth import Truth


class PackedText(torch.utils.data.Dataset):
    def __init__(self, n, length=8, vocab=32):
        gen = torch.Generator().manual_seed(0)
        self.ids = torch.randint(0, vocab, (n, length), generator=gen)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i].clone()}


def tiny_gpt2():
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=32,
            n_positions=16,
            n_embd=16,
            n_layer=1,
            n_head=2,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )


def train(model, loader, accumulation=4, max_norm=1.0):
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-3)
    sched = get_cosine_schedule_with_warmup(opt, num_warmup_steps=1, num_training_steps=2)
    used = []
    model.train()
    running = 0.0
    for i, batch in enumerate(loader):
        opt.zero_grad()  # cause
        used.append(batch["input_ids"])
        out = model(**batch)
        loss = out.loss / accumulation
        loss.backward()
        running += loss.item()
        if (i + 1) % accumulation == 0:
            grads = model.transformer.wpe.weight.grad.clone()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            sched.step()
            print(f"update {(i + 1) // accumulation} loss {running:.4f} lr {sched.get_last_lr()[0]:.1e}")
            running = 0.0
    return grads, used


def run():
    torch.manual_seed(0)
    model = tiny_gpt2()
    start = {k: v.clone() for k, v in model.state_dict().items()}
    grads, used = train(model, torch.utils.data.DataLoader(PackedText(8), batch_size=2), accumulation=4)
    return model, start, grads, used


def verify(out):
    model, start, grads, used = out
    model.load_state_dict(start)
    model.zero_grad()
    model.eval()
    (model(input_ids=used[-1], labels=used[-1]).loss / 4).backward()  # the last micro-batch alone
    assert torch.allclose(model.transformer.wpe.weight.grad, grads, atol=1e-5)


TRUTH = Truth(
    fault="gradients of all micro-batches but the last are thrown away",
    names=("zero_grad",),
    repair=("opt.zero_grad() if i % accumulation == 0 else None",),
)

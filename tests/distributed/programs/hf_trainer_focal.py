"""A Trainer of transformers' with a focal loss for tokens, on two processes."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F

from tests.distributed.truth import Truth


def environment():
    for key, value in {
        "RANK": dist.get_rank(),
        "LOCAL_RANK": dist.get_rank(),
        "WORLD_SIZE": 2,
        "LOCAL_WORLD_SIZE": 2,
        "ACCELERATE_USE_CPU": "true",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": 29981,
    }.items():
        os.environ[key] = str(value)


def focal_loss(outputs, labels, num_items_in_batch=None, gamma=2.0):
    logits, targets = outputs.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    nll = F.cross_entropy(logits, targets, reduction="none", ignore_index=-100)
    weight = (1 - torch.exp(-nll)) ** gamma
    return (weight * nll).sum() / (targets != -100).sum()  # cause


def examples(count=16, length=7):
    rows = torch.randint(1, 20, (count, length))
    labels = rows.clone()
    labels[:, :2] = -100
    return [{"input_ids": r, "labels": y} for r, y in zip(rows, labels)]


def setup():
    global trainer, folder
    environment()
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=20,
        n_positions=8,
        n_embd=8,
        n_layer=1,
        n_head=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    folder = tempfile.TemporaryDirectory()
    arguments = TrainingArguments(
        output_dir=folder.name,
        max_steps=3,
        per_device_train_batch_size=4,
        learning_rate=0.05,
        max_grad_norm=0.0,
        optim="sgd",
        use_cpu=True,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    trainer = Trainer(
        model=GPT2LMHeadModel(config), args=arguments, train_dataset=examples(), compute_loss_func=focal_loss
    )


def run():
    trainer.train()
    return [round(p.norm().item(), 5) for p in trainer.model.parameters()][:3]


TRUTH = Truth(
    fault="the loss is a mean already, and the Trainer multiplies by the number of processes: gradients are twice as large",
    rule="AG601",
    names=("wte.weight",),
    where="any",
)

"""A Trainer of transformers' with a loss of its own, computed with the model that it is given."""

import os
import tempfile

import torch
import torch.distributed as dist
from torch.nn import functional as F

from tests.distributed.truth import Truth


def environment():
    for key, value in {
        "RANK": dist.get_rank(),
        "LOCAL_RANK": dist.get_rank(),
        "WORLD_SIZE": 2,
        "LOCAL_WORLD_SIZE": 2,
        "ACCELERATE_USE_CPU": "true",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": 29995,
    }.items():
        os.environ[key] = str(value)


def setup():
    global trainer, folder
    environment()
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

    class Weighted(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, **_):
            outputs = model(input_ids=inputs["input_ids"])
            logits, labels = outputs.logits[:, :-1], inputs["labels"][:, 1:]
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1)
            return (loss, outputs) if return_outputs else loss

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=24,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        use_cache=False,
        pad_token_id=0,
    )
    ids = torch.randint(1, 24, (16, 6))
    folder = tempfile.TemporaryDirectory()
    arguments = TrainingArguments(
        output_dir=folder.name,
        max_steps=2,
        per_device_train_batch_size=2,
        learning_rate=1e-3,
        use_cpu=True,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    trainer = Weighted(
        model=LlamaForCausalLM(config),
        args=arguments,
        train_dataset=[{"input_ids": row, "labels": row} for row in ids],
    )


def run():
    trainer.train()


TRUTH = Truth()

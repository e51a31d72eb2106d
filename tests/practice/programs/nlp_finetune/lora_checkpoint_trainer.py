"""Fine-tuning: peft LoRA in a Trainer with accumulation, gradient checkpoints, frozen embeddings and an evaluation between; healthy."""

import tempfile
import warnings

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

from tests.practice.truth import Truth

warnings.filterwarnings("ignore")


class Text(torch.utils.data.Dataset):
    def __init__(self, n, length=10, vocab=40):
        self.ids = torch.randint(0, vocab, (n, length))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        labels = self.ids[i].clone()
        labels[:3] = -100
        return {"input_ids": self.ids[i], "labels": labels}


class KeepFrozen(TrainerCallback):
    """Watches that the base model stays as it was."""

    def __init__(self, model):
        self.model = model
        self.reference = {n: p.detach().clone() for n, p in model.named_parameters() if not p.requires_grad}
        self.modes = []

    def on_step_end(self, args, state, control, **kwargs):
        for n, p in self.model.named_parameters():
            if n in self.reference and not torch.equal(self.reference[n], p):
                raise RuntimeError(f"{n} has moved")

    def on_step_begin(self, args, state, control, **kwargs):
        self.modes.append(self.model.training)


def freeze_first_adapter(model):
    """The lowest block keeps the weights it was trained with."""
    for n, p in model.named_parameters():
        if ".h.0." in n and "lora_" in n:
            p.requires_grad_(False)


def build():
    config = GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)
    model.config.use_cache = False
    model.enable_input_require_grads()
    lora = LoraConfig(
        r=4,
        lora_alpha=8,
        lora_dropout=0.1,
        target_modules=["c_attn", "c_proj"],
        fan_in_fan_out=True,
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(model, lora)
    freeze_first_adapter(model)
    return model


def run():
    torch.manual_seed(0)
    model = build()
    watch = KeepFrozen(model)
    trainable = {n: p for n, p in model.named_parameters() if p.requires_grad}
    before = {n: p.detach().clone() for n, p in trainable.items()}
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
            max_steps=3,
            learning_rate=1e-2,
            eval_strategy="steps",
            eval_steps=1,
            gradient_checkpointing=True,
            max_grad_norm=0.5,
            warmup_steps=0,
            weight_decay=0.0,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
            seed=0,
        )
        trainer = Trainer(model=model, args=args, train_dataset=Text(32), eval_dataset=Text(8), callbacks=[watch])
        trainer.train()
    return before, trainable, watch.modes


def verify(outcome):
    before, trainable, modes = outcome
    assert trainable and all(not torch.equal(p, before[n]) for n, p in trainable.items())


TRUTH = Truth()

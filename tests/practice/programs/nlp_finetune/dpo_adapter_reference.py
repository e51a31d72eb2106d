"""Preference tuning: the reference is the policy with its adapter still on, so every log-ratio is zero but for the gradient."""

import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth

warnings.filterwarnings("ignore")


def build_policy():
    config = GPT2Config(
        vocab_size=40, n_positions=24, n_embd=16, n_layer=1, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0
    )
    base = GPT2LMHeadModel(config)
    return get_peft_model(
        base, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM")
    )


def sequence_logps(logits, labels, mask):
    labels, mask = labels[:, 1:], mask[:, 1:]
    logps = torch.gather(logits[:, :-1].log_softmax(-1), 2, labels.unsqueeze(2)).squeeze(2)
    return (logps * mask).sum(-1)


class DPOTrainer:
    def __init__(self, model, beta=0.5, lr=2e-2):
        self.model, self.beta = model, beta
        self.optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr, weight_decay=0.0)
        self.history = []

    def concatenated_forward(self, batch):
        ids = torch.cat([batch["chosen"], batch["rejected"]])
        mask = torch.cat([batch["chosen_mask"], batch["rejected_mask"]])
        logps = sequence_logps(self.model(input_ids=ids).logits, ids, mask)
        return logps.chunk(2)

    def compute_ref_log_probs(self, batch):
        with torch.no_grad():  # cause
            return self.concatenated_forward(batch)

    def dpo_loss(self, policy, reference):
        pi_logratios = policy[0] - policy[1]
        ref_logratios = reference[0] - reference[1]
        losses = -F.logsigmoid(self.beta * (pi_logratios - ref_logratios))
        chosen_rewards = self.beta * (policy[0] - reference[0]).detach()
        rejected_rewards = self.beta * (policy[1] - reference[1]).detach()
        return losses, chosen_rewards, rejected_rewards

    def train_step(self, batch):
        self.model.train()
        reference = self.compute_ref_log_probs(batch)
        policy = self.concatenated_forward(batch)
        losses, chosen_rewards, rejected_rewards = self.dpo_loss(policy, reference)
        self.optimizer.zero_grad()
        losses.mean().backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.history.append(
            {"loss": losses.mean().item(), "margin": float((chosen_rewards - rejected_rewards).abs().max())}
        )


def preference_batch(n=4, prompt=4, answer=5):
    prompts = torch.randint(1, 20, (n, prompt))
    chosen = torch.cat([prompts, torch.randint(20, 30, (n, answer))], 1)
    rejected = torch.cat([prompts, torch.randint(30, 40, (n, answer))], 1)
    mask = torch.cat([torch.zeros(n, prompt), torch.ones(n, answer)], 1)
    return {"chosen": chosen, "rejected": rejected, "chosen_mask": mask, "rejected_mask": mask}


def run():
    torch.manual_seed(0)
    trainer = DPOTrainer(build_policy())
    for _ in range(4):
        trainer.train_step(preference_batch())
    return trainer.history


def verify(history):
    assert all(entry["margin"] < 1e-5 for entry in history)


TRUTH = Truth(
    fault="the reference log-probabilities come from the policy itself, the adapter is not disabled",
    names=("disable_adapter", "reference"),
    values=True,
    repair=("with torch.no_grad(), self.model.disable_adapter():",),
)

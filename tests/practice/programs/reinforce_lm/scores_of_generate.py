"""REINFORCE on a language model: the log-probabilities are those that generate() returns, and generate() runs without gradient."""

import torch
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth

HP = {"lr": 1e-3, "new_tokens": 5, "entropy": 0.0, "xent": 0.5, "batch": 4, "baseline": 0.9}


def policy_model():
    config = GPT2Config(
        vocab_size=24,
        n_positions=32,
        n_embd=16,
        n_layer=1,
        n_head=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    return GPT2LMHeadModel(config)


def reward(responses):
    """How many of the tokens are small ones."""
    return (responses < 8).float().mean(1)


class Reinforce:
    def __init__(self, model):
        self.model, self.baseline = model, 0.0
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=HP["lr"])
        self.with_gradient = []

    def rollout(self, prompts):
        self.model.eval()
        out = self.model.generate(  # also
            prompts,
            attention_mask=torch.ones_like(prompts),
            do_sample=True,
            top_k=0,
            max_new_tokens=HP["new_tokens"],
            min_new_tokens=HP["new_tokens"],
            return_dict_in_generate=True,
            output_scores=True,
        )
        self.model.train()
        return out

    def step(self, prompts, demonstrations):
        out = self.rollout(prompts)
        responses = out.sequences[:, prompts.size(1) :]
        logits = torch.stack(out.scores, dim=1)  # cause
        logprobs = logits.log_softmax(-1).gather(2, responses.unsqueeze(-1)).squeeze(-1)

        rewards = reward(responses)
        advantage = rewards - self.baseline
        self.baseline = HP["baseline"] * self.baseline + (1 - HP["baseline"]) * rewards.mean().item()
        policy_loss = -(advantage.detach() * logprobs.sum(1)).mean()
        self.with_gradient.append(policy_loss.requires_grad)

        # keeps the policy near to the demonstrations
        xent = self.model(input_ids=demonstrations, labels=demonstrations).loss
        loss = policy_loss + HP["xent"] * xent
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return rewards.mean().item()


def run():
    torch.manual_seed(0)
    trainer = Reinforce(policy_model())
    for _ in range(3):
        prompts = torch.randint(1, 24, (HP["batch"], 4))
        demonstrations = F.one_hot(torch.randint(1, 24, (HP["batch"], 9)), 24).argmax(-1)
        trainer.step(prompts, demonstrations)
    return trainer.with_gradient


def verify(outcome):
    assert not any(outcome), outcome


TRUTH = Truth(
    fault="generate() is decorated with no_grad: its scores carry no graph, the policy loss trains nothing",
    names=("scores", "logits"),
    repair=("logits = self.model(out.sequences).logits[:, prompts.size(1) - 1 : -1]",),
)

"""A preview after each epoch: generation puts the model in eval mode, and it trains on without dropout."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth


class Trainer:
    def __init__(self, model, lr=1e-3, epochs=2):
        self.model, self.epochs = model, epochs
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr)
        self.log = []

    def preview(self, prompt):
        self.model.eval()  # also
        with torch.no_grad():
            out = self.model.generate(prompt, max_new_tokens=3, do_sample=False, pad_token_id=0)
        return out[0].tolist()  # cause

    def train_step(self, ids):
        loss = self.model(input_ids=ids, labels=ids).loss
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit(self, data, prompt):
        self.model.train()
        for epoch in range(self.epochs):
            losses = [self.train_step(ids) for ids in data]
            self.log.append((sum(losses) / len(losses), self.model.training))
            print(f"epoch {epoch} loss {self.log[-1][0]:.4f} preview {self.preview(prompt)}")


def run():
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2, resid_pdrop=0.2, eos_token_id=None
    )
    trainer = Trainer(GPT2LMHeadModel(config))
    data = [torch.randint(1, 32, (2, 6)) for _ in range(2)]
    trainer.fit(data, prompt=torch.tensor([[3, 1, 4]]))
    return trainer.log


def verify(out):
    assert [training for _, training in out] == [True, False]


TRUTH = Truth(
    fault="from the second epoch on the model trains in eval mode",
    names=("eval",),
    repair=("self.model.train()\nreturn out[0].tolist()",),
)

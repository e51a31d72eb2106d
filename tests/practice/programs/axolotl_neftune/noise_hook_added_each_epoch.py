"""axolotl-like NEFTune: each training epoch registers the noise hook anew, and the handle is overwritten."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

CFG = {"neftune_noise_alpha": 5.0, "num_epochs": 3, "learning_rate": 1e-3}


def neftune_post_forward_hook(module, args, output):
    if module.training:
        dims = output.size(1) * output.size(2)
        mag = module.neftune_noise_alpha / dims**0.5
        output = output + torch.zeros_like(output).uniform_(-mag, mag)
    return output


class CausalLM(nn.Module):
    def __init__(self, vocab=24, dim=16):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def get_input_embeddings(self):
        return self.embed_tokens

    def forward(self, input_ids, labels=None):
        hidden, _ = self.rnn(self.embed_tokens(input_ids))
        logits = self.lm_head(hidden)
        if labels is None:
            return logits
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


class NeftuneCallback:
    handle = None

    def on_epoch_begin(self, model):
        embeddings = model.get_input_embeddings()
        embeddings.neftune_noise_alpha = CFG["neftune_noise_alpha"]
        self.handle = embeddings.register_forward_hook(neftune_post_forward_hook)  # cause

    def on_train_end(self, model):
        self.handle.remove()


class Trainer:
    def __init__(self, model, data, callbacks):
        self.model, self.data, self.callbacks = model, data, callbacks
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=CFG["learning_rate"])

    def train(self):
        spread = []
        for _ in range(CFG["num_epochs"]):
            for cb in self.callbacks:
                cb.on_epoch_begin(self.model)
            self.model.train()
            for ids in self.data:
                self.optimizer.zero_grad()
                self.model(ids, labels=ids).backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
            with torch.no_grad():
                noisy = self.model.embed_tokens(self.data[0])
                clean = F.embedding(self.data[0], self.model.embed_tokens.weight)
                spread.append((noisy - clean).std().item())
        for cb in self.callbacks:
            cb.on_train_end(self.model)
        return spread


def run():
    torch.manual_seed(0)
    model = CausalLM()
    data = [torch.randint(0, 24, (4, 8)) for _ in range(2)]
    spread = Trainer(model, data, [NeftuneCallback()]).train()
    return spread, len(model.embed_tokens._forward_hooks)


def verify(outcome):
    spread, left = outcome
    assert spread[2] > 1.4 * spread[0]
    assert left == 2


TRUTH = Truth(
    fault="the hook is registered once per epoch and only the last handle is removed: noise is added twice, three times, and stays for good",
    names=("embed_tokens",),
    repair=("self.handle = self.handle or embeddings.register_forward_hook(neftune_post_forward_hook)",),
)

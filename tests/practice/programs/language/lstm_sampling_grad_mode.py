"""Language modelling: the sampler switches gradients off by hand and leaves early at the end of text without switching them on again."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

EOS = 0


class CharLSTM(nn.Module):
    def __init__(self, vocab=20, dim=12, hidden=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, ids, state=None):
        out, state = self.lstm(self.embed(ids), state)
        return self.head(out), state


class Sampler:
    """Shows a few lines of text between the epochs."""

    def __init__(self, model, max_len=12, temperature=1.0):
        self.model, self.max_len, self.temperature = model, max_len, temperature

    def next_token(self, logits):
        probs = F.softmax(logits[:, -1] / self.temperature, dim=-1)
        return torch.multinomial(probs, 1)

    def sample(self, prompt):
        was_training = self.model.training
        self.model.eval()
        torch.set_grad_enabled(False)  # also
        ids = torch.tensor([prompt])
        logits, state = self.model(ids)
        out = list(prompt)
        for _ in range(self.max_len):
            token = self.next_token(logits)
            if token.item() == EOS:
                self.model.train(was_training)
                return out  # cause
            out.append(token.item())
            logits, state = self.model(token, state)
        torch.set_grad_enabled(True)
        self.model.train(was_training)
        return out


class Corpus:
    def __init__(self, n=6, length=10, vocab=20):
        self.lines = torch.randint(1, vocab, (n, length))
        self.lines[:, -1] = EOS

    def batches(self, size):
        for part in self.lines[torch.randperm(len(self.lines))].split(size):
            yield part[:, :-1], part[:, 1:]


def train_epoch(model, corpus, optimizer, clip=1.0):
    model.train()
    total = 0.0
    for x, y in corpus.batches(3):
        logits, _ = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        total += loss.item()
    return total


def run():
    torch.manual_seed(4)
    model, corpus = CharLSTM(), Corpus()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    sampler = Sampler(model)
    with torch.no_grad():
        model.head.bias[EOS] += 1.0
    try:
        texts = []
        for epoch in range(3):
            train_epoch(model, corpus, optimizer)
            texts += [sampler.sample([5]) for _ in range(3)]
        return texts
    finally:
        torch.set_grad_enabled(True)


TRUTH = Truth(
    fault="the sampler returns early with gradients still disabled",
    raises="element 0 of tensors does not require grad",
    names=("set_grad_enabled",),
    repair=("torch.set_grad_enabled(True)\nreturn out",),
)

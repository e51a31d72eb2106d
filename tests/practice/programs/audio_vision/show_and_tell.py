"""Captioning, the encoder fine-tuned after a warm-up: its features are still computed under `no_grad()`."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from tests.practice.truth import Truth


class EncoderCNN(nn.Module):
    def __init__(self, embed=8):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(3, 6, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.linear = nn.Linear(6, embed)
        self.fine_tune(False)

    def fine_tune(self, on=True):
        for p in self.cnn.parameters():
            p.requires_grad = on

    def forward(self, images):
        with torch.no_grad():  # cause
            features = self.cnn(images)
        return self.linear(features)


class DecoderRNN(nn.Module):
    def __init__(self, vocab=20, embed=8, hidden=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, embed)
        self.lstm = nn.LSTM(embed, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, vocab)

    def forward(self, features, captions, lengths):
        embeddings = torch.cat([features.unsqueeze(1), self.embed(captions)], dim=1)
        packed = pack_padded_sequence(embeddings, lengths, batch_first=True)
        return self.linear(self.lstm(packed)[0].data)


def train_epoch(encoder, decoder, loader, optimizers):
    for images, captions, lengths in loader:
        targets = pack_padded_sequence(captions, lengths, batch_first=True).data
        loss = F.cross_entropy(decoder(encoder(images), captions, lengths), targets)
        for opt in optimizers:
            opt.zero_grad()
        loss.backward()
        for opt in optimizers:
            nn.utils.clip_grad_norm_([p for g in opt.param_groups for p in g["params"]], 5.0)
            opt.step()  # symptom
    return loss.item()


def run():
    torch.manual_seed(0)
    encoder, decoder = EncoderCNN(), DecoderRNN()
    loader = []
    for _ in range(3):
        lengths = torch.randint(3, 7, (4,)).sort(descending=True).values
        captions = torch.randint(1, 20, (4, int(lengths[0]))) * (torch.arange(int(lengths[0])) < lengths[:, None])
        loader.append((torch.rand(4, 3, 12, 12), captions, lengths))
    optimizers = [torch.optim.Adam([*decoder.parameters(), *encoder.linear.parameters()], lr=1e-3)]
    for epoch in range(4):
        if epoch == 2:
            encoder.fine_tune(True)
            optimizers.append(torch.optim.Adam(encoder.cnn.parameters(), lr=1e-4))
        print(f"epoch {epoch} loss {train_epoch(encoder, decoder, loader, optimizers):.4f}")
    return encoder


def verify(out):
    assert all(p.grad is None for p in out.cnn.parameters())


TRUTH = Truth(
    fault="the encoder is to be fine-tuned, and is run without a graph",
    names=("no_grad", "cnn"),
    repair=("with torch.set_grad_enabled(torch.is_grad_enabled()):",),
)

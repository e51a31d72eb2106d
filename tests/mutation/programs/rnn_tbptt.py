import torch
from torch import nn


class RNNModel(nn.Module):
    def __init__(self, ntoken=20, ninp=8, nhid=8):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        self.decoder.weight = self.encoder.weight
        self.drop = nn.Dropout(0.2)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output)
        return decoded.view(-1, 20), hidden

    def init_hidden(self, bsz):
        return torch.zeros(1, bsz, 8), torch.zeros(1, bsz, 8)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def run():
    corpus = torch.randint(0, 20, (26, 3))
    model = RNNModel()
    criterion = nn.CrossEntropyLoss()
    lr, total_loss = 0.5, 0.0
    hidden = model.init_hidden(3)
    model.train()
    for i in range(0, 25, 5):
        data, targets = corpus[i : i + 5], corpus[i + 1 : i + 6].reshape(-1)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    return model, total_loss

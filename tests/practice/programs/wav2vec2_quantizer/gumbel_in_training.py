"""wav2vec 2.0: the two branches of the quantiser changed places, so that training takes the hard argmax."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class GumbelVectorQuantizer(nn.Module):
    def __init__(self, dim=16, groups=2, num_vars=6, out=8):
        super().__init__()
        self.num_groups, self.num_vars, self.temperature = groups, num_vars, 2.0
        self.codevectors = nn.Parameter(torch.rand(1, groups * num_vars, out // groups))
        self.weight_proj = nn.Linear(dim, groups * num_vars)

    @staticmethod
    def compute_perplexity(probs):
        marginal = probs.mean(0)
        return torch.exp(-torch.sum(marginal * torch.log(marginal + 1e-7), dim=-1)).sum()

    def forward(self, hidden_states):
        b, t, _ = hidden_states.shape
        logits = self.weight_proj(hidden_states).view(b * t * self.num_groups, -1)
        if not self.training:  # cause
            probs = F.gumbel_softmax(logits.float(), tau=self.temperature, hard=True)
            soft = torch.softmax(logits.view(b * t, self.num_groups, -1).float(), dim=-1)
            perplexity = self.compute_perplexity(soft)
        else:
            index = logits.argmax(dim=-1)
            probs = logits.new_zeros(*logits.shape).scatter_(-1, index.view(-1, 1), 1.0)
            perplexity = self.compute_perplexity(probs.view(b * t, self.num_groups, -1))
        per_group = probs.view(b * t, -1, 1) * self.codevectors
        codes = per_group.view(b * t, self.num_groups, self.num_vars, -1).sum(2)
        return codes.view(b, t, -1), perplexity


class Wav2Vec2ForPreTraining(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.feature_extractor = nn.Conv1d(1, dim, 8, 4)
        self.masked_spec_embed = nn.Parameter(torch.rand(dim))
        self.encoder = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.quantizer = GumbelVectorQuantizer(dim)
        self.project_hid, self.project_q = nn.Linear(2 * dim, 8), nn.Linear(8, 8)

    def forward(self, wave, mask, negatives=4, kappa=0.1):
        feats = self.feature_extractor(wave.unsqueeze(1)).transpose(1, 2)
        hidden = torch.where(mask[..., None], self.masked_spec_embed, feats)
        context = self.project_hid(self.encoder(hidden)[0])[mask]
        codes, perplexity = self.quantizer(feats)
        positive = self.project_q(codes)[mask]
        drawn = torch.randint(0, len(positive), (negatives, len(positive)))
        candidates = torch.cat([positive[None], positive[drawn]])
        logits = F.cosine_similarity(context[None], candidates, dim=-1) / kappa
        contrastive = F.cross_entropy(logits.T, torch.zeros(len(positive), dtype=torch.long))
        total = self.quantizer.num_groups * self.quantizer.num_vars
        return contrastive + 0.1 * (total - perplexity) / total


def run():
    torch.manual_seed(0)
    model = Wav2Vec2ForPreTraining().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
    start = model.quantizer.weight_proj.weight.detach().clone()
    for step in range(4):
        wave, mask = torch.randn(2, 84), torch.rand(2, 20) < 0.4
        loss = model(wave, mask)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        optimizer.zero_grad()
        model.quantizer.temperature = max(2.0 * 0.99**step, 0.5)
    return model.quantizer.weight_proj.weight.detach(), start


def verify(outcome):
    assert torch.equal(*outcome)


TRUTH = Truth(
    fault="codes are chosen by argmax in training: the projection that chooses them gets no gradient",
    names=("weight_proj",),
    repair=("if self.training:",),
)

"""Speech: the targets of the contrastive task are the masked features themselves, the clone before the mask was lost."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ConvFeatureExtractionModel(nn.Module):
    def __init__(self, conv_layers=((8, 10, 5), (8, 3, 2)), dropout=0.0):
        super().__init__()
        in_d, self.conv_layers = 1, nn.ModuleList()
        for dim, k, stride in conv_layers:
            self.conv_layers.append(
                nn.Sequential(
                    nn.Conv1d(in_d, dim, k, stride, bias=False), nn.Dropout(dropout), nn.GroupNorm(dim, dim), nn.GELU()
                )
            )
            in_d = dim

    def forward(self, x):
        x = x.unsqueeze(1)
        for conv in self.conv_layers:
            x = conv(x)
        return x


class GradMultiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.new(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.scale, None


def compute_mask_indices(bsz, tsz, prob=0.3, length=2):
    mask = torch.zeros(bsz, tsz, dtype=torch.bool)
    for row in mask:
        n = max(1, int(prob * tsz / length))
        for start in torch.randperm(tsz - length)[:n].tolist():
            row[start : start + length] = True
    size = int(mask.sum(1).min())
    for row in mask:
        on = row.nonzero().flatten()
        row[on[torch.randperm(len(on))[size:]]] = False
    return mask


class Wav2Vec2Model(nn.Module):
    def __init__(self, dim=8, encoder=16, final_dim=8, n_negatives=4, feature_grad_mult=0.1):
        super().__init__()
        self.feature_extractor = ConvFeatureExtractionModel()
        self.layer_norm = nn.LayerNorm(dim)
        self.post_extract_proj = nn.Linear(dim, encoder)
        self.mask_emb = nn.Parameter(torch.empty(encoder).uniform_())
        layer = nn.TransformerEncoderLayer(encoder, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.project_q = nn.Linear(encoder, final_dim)
        self.final_proj = nn.Linear(encoder, final_dim)
        self.n_negatives, self.feature_grad_mult = n_negatives, feature_grad_mult

    def apply_mask(self, x, mask_indices):
        x[mask_indices] = self.mask_emb
        return x

    def sample_negatives(self, y):
        bsz, tsz, fsz = y.shape
        idxs = torch.randint(0, tsz - 1, (bsz, tsz, self.n_negatives))
        idxs = idxs + (idxs >= torch.arange(tsz).view(1, -1, 1)).long()
        return torch.gather(
            y.unsqueeze(1).expand(-1, tsz, -1, -1), 2, idxs.unsqueeze(-1).expand(-1, -1, -1, fsz)
        ).permute(2, 0, 1, 3)

    def compute_preds(self, x, y, negatives):
        targets = torch.cat([y.unsqueeze(0), negatives], dim=0)
        return torch.cosine_similarity(x.float(), targets.float(), dim=-1) / 0.1

    def forward(self, source):
        features = GradMultiply.apply(self.feature_extractor(source), self.feature_grad_mult)
        features_pen = features.float().pow(2).mean()
        features = self.post_extract_proj(self.layer_norm(features.transpose(1, 2)))
        unmasked_features = features  # cause
        mask_indices = compute_mask_indices(features.size(0), features.size(1))
        x = self.apply_mask(features, mask_indices)
        y = unmasked_features[mask_indices].view(features.size(0), -1, features.size(-1))
        x = self.encoder(x)
        y = self.project_q(y)
        x = self.final_proj(x[mask_indices].view(x.size(0), -1, x.size(-1)))
        return self.compute_preds(x, y, self.sample_negatives(y)), features_pen, y


def criterion(logits, features_pen):
    logits = logits.flatten(1).t()
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long), reduction="sum") + features_pen * len(
        logits
    )


def run():
    torch.manual_seed(1)
    model = Wav2Vec2Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-6)
    spread = []
    for _ in range(3):
        source = F.layer_norm(torch.randn(3, 200), (200,))
        logits, pen, y = model(source)
        loss = criterion(logits, pen)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 25.0)
        optimizer.step()
        spread.append(float((y - y[:1, :1]).detach().abs().max()))
    return spread


def verify(spread):
    assert max(spread) < 1e-5


TRUTH = Truth(
    fault="unmasked_features is the tensor the mask is written into, all targets are mask_emb",
    names=("mask_emb",),
    repair=("unmasked_features = features.clone()",),
)

"""CoOp: nn.Parameter(...).unsqueeze(0) is no parameter any more, so the learned context is not learned."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TextEncoder(nn.Module):
    """Stands for CLIP's; frozen."""

    def __init__(self, vocab=30, dim=12):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True, norm_first=True)
        self.text_projection = nn.Parameter(torch.randn(dim, 8) * 0.1)

    def forward(self, prompts):
        return self.layer(prompts)[:, -1] @ self.text_projection


class ImageEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.proj = nn.Conv2d(3, 8, 4, 4), nn.Linear(8, 8)

    def forward(self, image):
        return self.proj(F.relu(self.conv(image)).mean((2, 3)))


class PromptLearner(nn.Module):
    def __init__(self, class_tokens, text_encoder, n_ctx=4, std=0.02):
        super().__init__()
        with torch.no_grad():
            embedding = text_encoder.token_embedding(class_tokens)
        dim = embedding.size(-1)
        self.register_buffer("token_prefix", embedding[:, :1])
        self.register_buffer("token_suffix", embedding[:, 1:])
        self.ctx = nn.Parameter(torch.randn(n_ctx, dim) * std).unsqueeze(0)  # cause
        self.class_bias = nn.Parameter(torch.zeros(len(class_tokens)))

    def forward(self):
        ctx = self.ctx.expand(len(self.token_prefix), -1, -1)
        return torch.cat((self.token_prefix, ctx, self.token_suffix), dim=1)


class CustomCLIP(nn.Module):
    def __init__(self, class_tokens):
        super().__init__()
        self.image_encoder, self.text_encoder = ImageEncoder(), TextEncoder()
        self.prompt_learner = PromptLearner(class_tokens, self.text_encoder)
        self.register_buffer("logit_scale", torch.tensor(10.0))

    def forward(self, image):
        image_features = F.normalize(self.image_encoder(image), dim=-1)
        text_features = F.normalize(self.text_encoder(self.prompt_learner()), dim=-1)
        return self.logit_scale * image_features @ text_features.t() + self.prompt_learner.class_bias


def build(model, lr=0.02):
    for name, param in model.named_parameters():
        if "prompt_learner" not in name:
            param.requires_grad_(False)
    optimizer = torch.optim.SGD(model.prompt_learner.parameters(), lr=lr, momentum=0.9)
    return optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)


def run():
    torch.manual_seed(0)
    model = CustomCLIP(torch.randint(0, 30, (5, 4)))
    optimizer, scheduler = build(model)
    before = model.prompt_learner.ctx.detach().clone()
    for _ in range(4):
        image, label = torch.randn(6, 3, 8, 8), torch.randint(0, 5, (6,))
        loss = F.cross_entropy(model(image), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return before, model.prompt_learner.ctx.detach().clone()


def verify(outcome):
    assert torch.equal(*outcome)


TRUTH = Truth(
    fault="a view of a Parameter is a plain tensor: ctx is not registered and the optimizer has not got it",
    names=("ctx",),
    repair=("self.ctx = nn.Parameter(torch.randn(1, n_ctx, dim) * std)",),
)

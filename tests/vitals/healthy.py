"""Programs that train as they should, small: each returns what one training step does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    ResNetConfig,
    ResNetForImageClassification,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
)

Step = Callable[[], None]
_WORDS = 97


def _language_model(model: nn.Module, lr: float = 3e-4) -> Step:
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=lr)

    def step() -> None:
        ids = torch.randint(0, _WORDS, (4, 24))
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def gpt2() -> Step:
    config = GPT2Config(vocab_size=_WORDS, n_embd=32, n_layer=6, n_head=2, n_positions=32)
    return _language_model(GPT2LMHeadModel(config))


def llama() -> Step:
    config = LlamaConfig(
        vocab_size=_WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=4, num_attention_heads=2
    )
    return _language_model(LlamaForCausalLM(config))


def t5() -> Step:
    config = T5Config(
        vocab_size=_WORDS, d_model=32, d_kv=8, d_ff=64, num_layers=3, num_heads=2, decoder_start_token_id=0
    )
    return _language_model(T5ForConditionalGeneration(config), lr=1e-3)


def bert() -> Step:
    config = BertConfig(
        vocab_size=_WORDS, hidden_size=32, num_hidden_layers=3, num_attention_heads=2, intermediate_size=64
    )
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)

    def step() -> None:
        ids = torch.randint(0, _WORDS, (8, 16))
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids[:, 0] % 2).loss.backward()
        optimizer.step()

    return step


def _classifier(model: nn.Module, lr: float) -> Step:
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        model(pixel_values=torch.randn(8, 3, 32, 32), labels=torch.randint(0, 2, (8,))).loss.backward()
        optimizer.step()

    return step


def resnet() -> Step:
    config = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 32, 64], depths=[2, 2, 2, 2], layer_type="basic", num_labels=2
    )
    return _classifier(ResNetForImageClassification(config), lr=0.1)


def vision_transformer() -> Step:
    config = ViTConfig(
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
        num_labels=2,
    )
    return _classifier(ViTForImageClassification(config), lr=1e-2)


def lstm() -> Step:
    net = nn.ModuleDict({"embed": nn.Embedding(50, 16), "lstm": nn.LSTM(16, 32, 2), "head": nn.Linear(32, 50)})
    optimizer = torch.optim.Adam(net.parameters())

    def step() -> None:
        words = torch.randint(0, 50, (20, 4))
        logits = net["head"](net["lstm"](net["embed"](words))[0])
        optimizer.zero_grad()
        F.cross_entropy(logits[:-1].flatten(0, 1), words[1:].flatten()).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    return step


def recurrent_cell() -> Step:
    cell, head = nn.RNNCell(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.RMSprop([*cell.parameters(), *head.parameters()], lr=1e-3)

    def step() -> None:
        x, state = torch.randn(12, 4, 8), torch.zeros(4, 16)
        for part in x:
            state = cell(part, state)
        optimizer.zero_grad()
        F.mse_loss(head(state), x.sum((0, 2))[:, None]).backward()
        optimizer.step()

    return step


def _adversarial(generator: nn.Module, critic: nn.Module, real: Callable[[], Any], noise: tuple[int, ...]) -> Step:
    one, other = (torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (generator, critic))
    loss = F.binary_cross_entropy_with_logits

    def step() -> None:
        fake = generator(torch.randn(8, *noise))
        yes, no = torch.ones(8, 1), torch.zeros(8, 1)
        other.zero_grad()
        (loss(critic(real()), yes) + loss(critic(fake.detach()), no)).backward()
        other.step()
        one.zero_grad()
        loss(critic(fake), yes).backward()
        one.step()

    return step


def gan() -> Step:
    generator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    return _adversarial(generator, critic, lambda: torch.randn(8, 2) * 0.5 + 2, (8,))


def dcgan() -> Step:
    generator = nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(inplace=True),
        nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1),
        nn.Tanh(),
    )
    critic = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(8, 16, 4, 2, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 1, 4),
        nn.Flatten(),
    )
    return _adversarial(generator, critic, lambda: torch.rand(8, 1, 16, 16) * 2 - 1, (8, 1, 1))


def reinforce() -> Step:
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def step() -> None:
        state = torch.randn(32, 4)
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        reward = (action == (state[:, 0] > 0)).float()
        advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
        optimizer.zero_grad()
        (-(choice.log_prob(action) * advantage).mean()).backward()
        optimizer.step()

    return step


def actor_critic() -> Step:
    actor = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Tanh())
    critic = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    one, other = (torch.optim.Adam(net.parameters(), lr=1e-3) for net in (actor, critic))

    def step() -> None:
        state, action = torch.randn(32, 3), torch.rand(32, 1) * 2 - 1
        other.zero_grad()
        F.mse_loss(critic(torch.cat([state, action], 1)), -((action - state[:, :1].tanh()) ** 2)).backward()
        other.step()
        one.zero_grad()
        (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
        one.step()

    return step


def autoencoder() -> Step:
    encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
    decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16), nn.Sigmoid())
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

    def step() -> None:
        x = torch.rand(32, 16).round()
        mean, log_variance = encoder(x).chunk(2, 1)
        drawn = decoder(mean + torch.randn_like(mean) * (log_variance / 2).exp())
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()
        optimizer.zero_grad()
        (F.binary_cross_entropy(drawn, x, reduction="sum") + divergence).backward()
        optimizer.step()

    return step


class Gate(nn.Module):
    """Squeeze and excite: its hidden layer hardly varies over a batch of noise."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.squeeze, self.excite, self.head = nn.Linear(16, 4), nn.Linear(4, 16), nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = F.hardswish(self.norm(self.conv(x)))
        gate = torch.sigmoid(self.excite(F.relu(self.squeeze(hidden.mean((2, 3))))))
        out: torch.Tensor = self.head((hidden * gate[..., None, None]).mean((2, 3)))
        return out


def gate() -> Step:
    net = Gate()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(net(torch.randn(8, 3, 16, 16)), torch.randint(0, 2, (8,))).backward()
        optimizer.step()

    return step


def gated_recurrence() -> Step:
    net = nn.ModuleDict({"gru": nn.GRU(4, 24, 2), "head": nn.Linear(24, 1)})
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step() -> None:
        x = torch.randn(16, 8, 4).cumsum(0) * 0.3
        optimizer.zero_grad()
        F.mse_loss(net["head"](net["gru"](x)[0][:-1]), x[1:, :, :1]).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    return step


def warmed_up_transformer() -> Step:
    """Post-norm, as in the paper, with the warm-up that it needs."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    net = nn.ModuleDict(
        {"embed": nn.Embedding(20, 16), "body": nn.TransformerEncoder(layer, 4), "head": nn.Linear(16, 20)}
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.98))

    def rate(step: int) -> float:
        return min((step + 1) / 40, ((step + 1) / 40) ** -0.5)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)

    def step() -> None:
        words = torch.randint(0, 20, (8, 12))
        optimizer.zero_grad()
        F.cross_entropy(net["head"](net["body"](net["embed"](words))).flatten(0, 1), words.flip(1).flatten()).backward()
        optimizer.step()
        schedule.step()

    return step


def wasserstein() -> Step:
    """With a gradient penalty, and five steps of the critic to one of the generator."""
    generator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    one, other = (torch.optim.Adam(net.parameters(), lr=1e-4, betas=(0.0, 0.9)) for net in (generator, critic))

    def step() -> None:
        for _ in range(5):
            real, fake = torch.randn(16, 2) * 0.5 + 2, generator(torch.randn(16, 8)).detach()
            mixed = torch.lerp(real, fake, torch.rand(16, 1)).requires_grad_()
            [slope] = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
            other.zero_grad()
            (critic(fake).mean() - critic(real).mean() + 10 * (slope.norm(dim=1) - 1).pow(2).mean()).backward()
            other.step()
        one.zero_grad()
        (-critic(generator(torch.randn(16, 8))).mean()).backward()
        one.step()

    return step


def denoiser() -> Step:
    """A small U-Net that predicts the noise of a diffusion step."""
    down, up = nn.Conv2d(1, 8, 3, 2, 1), nn.ConvTranspose2d(16, 8, 4, 2, 1)
    middle, last = nn.Conv2d(8, 8, 3, 1, 1), nn.Conv2d(9, 1, 3, 1, 1)
    net = nn.ModuleList([down, up, middle, last, nn.GroupNorm(2, 8), nn.GroupNorm(2, 8)])
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    def step() -> None:
        clean = torch.zeros(8, 1, 16, 16)
        clean[:, :, 4:12, 4:12] = torch.rand(8, 1, 1, 1)
        noise, level = torch.randn_like(clean), torch.rand(8, 1, 1, 1)
        x = (1 - level).sqrt() * clean + level.sqrt() * noise
        low = F.silu(net[4](down(x)))
        out = last(torch.cat([F.silu(net[5](up(torch.cat([low, F.silu(middle(low))], 1)))), x], 1))
        optimizer.zero_grad()
        F.mse_loss(out, noise).backward()
        optimizer.step()

    return step


def deep_q_learning() -> Step:
    """With a target network that follows slowly."""

    def network() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    net, target = network(), network()
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)

    def step() -> None:
        state, action = torch.randn(64, 4), torch.randint(0, 2, (64, 1))
        reward = (action == (state[:, :1] > 0)).float()
        with torch.no_grad():
            wanted = reward + 0.9 * target(state + 0.1 * torch.randn(64, 4)).max(1, keepdim=True).values
        optimizer.zero_grad()
        F.smooth_l1_loss(net(state).gather(1, action), wanted).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 10.0)
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
                slow.lerp_(fast, 0.01)

    return step


def proximal_policy() -> Step:
    """PPO: four updates on the actions of the policy before."""
    net = nn.ModuleDict({"body": nn.Linear(4, 32), "actor": nn.Linear(32, 2), "critic": nn.Linear(32, 1)})
    nn.init.orthogonal_(net["actor"].weight, 0.01)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4)

    def step() -> None:
        state = torch.randn(64, 4)
        with torch.no_grad():
            old = torch.distributions.Categorical(logits=net["actor"](net["body"](state).tanh()))
        action = old.sample()
        reward = (action == (state[:, 0] > 0)).float()
        for _ in range(4):
            hidden = net["body"](state).tanh()
            now, value = torch.distributions.Categorical(logits=net["actor"](hidden)), net["critic"](hidden)[:, 0]
            ratio = (now.log_prob(action) - old.log_prob(action)).exp()
            advantage = reward - value.detach()
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            optimizer.zero_grad()
            (F.mse_loss(value, reward) / 2 - gain - 0.01 * now.entropy().mean()).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()

    return step


PROGRAMS = (
    gpt2,
    llama,
    t5,
    bert,
    resnet,
    vision_transformer,
    lstm,
    recurrent_cell,
    gan,
    dcgan,
    reinforce,
    actor_critic,
    autoencoder,
    gate,
    gated_recurrence,
    warmed_up_transformer,
    wasserstein,
    denoiser,
    deep_q_learning,
    proximal_policy,
)

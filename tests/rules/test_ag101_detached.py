"""AG101: a `.detach()`, `.detach_()` or `.data` cuts trainable parameters off."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def test_features_detached_in_front_of_a_head():
    """An encoder whose output is detached never learns; without the encoder in an optimizer that is intended."""

    def sick():
        encoder, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-3)
        for _ in range(2):
            features = encoder(X).relu().detach()
            trained(optimizer, F.cross_entropy(head(features), Y))

    def healthy():
        encoder, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
        for _ in range(2):
            features = encoder(X).relu().detach()
            trained(optimizer, F.cross_entropy(head(features), Y))

    diagnosed(sick, "AG101", "relu().detach()", "encoder.weight", ".detach()", severity="warning")
    silent(healthy)


def test_detached_loss():
    """A loss that was detached cannot be differentiated; a detached copy of it for the log can stay."""

    def sick():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = torch.zeros(())
        for _ in range(3):
            total += F.cross_entropy(net(X), Y).detach()
        trained(optimizer, total)

    def healthy():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = torch.zeros(())
        for _ in range(3):
            loss = F.cross_entropy(net(X), Y)
            total += loss.detach()
            trained(optimizer, loss)
        return total / 3

    diagnosed(sick, "AG101", "net(X), Y).detach()", "weight", "does not require grad", severity="error")
    silent(healthy)


def test_detached_loss_that_is_also_logged():
    """A detached loss on which backward is called is what cuts; that its value is read as a number as well is not."""

    def sick():
        net = nn.Linear(4, 2)
        loss = F.cross_entropy(net(X), Y).detach()
        logged = [loss.item(), float(loss), loss.cpu().numpy()]
        loss.backward()
        return logged

    diagnosed(sick, "AG101", "net(X), Y).detach()", "weight", "does not require grad", severity="error")


def test_generator_step_on_detached_fakes():
    """A GAN's generator learns from fakes that are not detached; its discriminator's step wants them detached."""

    def gan(generator_loss):
        g, d = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
        opt_g, opt_d = torch.optim.Adam(g.parameters(), lr=1e-3), torch.optim.Adam(d.parameters(), lr=1e-3)
        for _ in range(2):
            fake = g(torch.randn(8, 2))
            trained(opt_d, F.softplus(d(fake.detach())).mean() + F.softplus(-d(X)).mean())
            trained(opt_g, generator_loss(d, fake))

    def sick():
        g, d = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
        opt_g, opt_d = torch.optim.Adam(g.parameters(), lr=1e-3), torch.optim.Adam(d.parameters(), lr=1e-3)
        for _ in range(2):
            fake = g(torch.randn(8, 2)).detach()
            trained(opt_d, F.softplus(d(fake)).mean() + F.softplus(-d(X)).mean())
            trained(opt_g, F.softplus(-d(fake)).mean())

    def healthy():
        gan(lambda d, fake: F.softplus(-d(fake)).mean())

    diagnosed(sick, "AG101", "2)).detach()", "g.weight", severity="warning")
    silent(healthy)


def test_variational_autoencoder_with_detached_sample():
    """Detaching the latent sample keeps the encoder from learning to reconstruct."""

    def vae(sample):
        to_stats, decoder = nn.Linear(4, 6), nn.Linear(3, 4)
        optimizer = torch.optim.Adam([*to_stats.parameters(), *decoder.parameters()])
        mu, log_var = to_stats(X).chunk(2, dim=-1)
        trained(optimizer, F.mse_loss(decoder(sample(mu, log_var)), X))

    def sick():
        def reparameterized(mu, log_var):
            noise = torch.randn_like(mu) * (0.5 * log_var).exp()
            return (mu + noise).detach()

        vae(reparameterized)

    def healthy():
        vae(lambda mu, log_var: mu + torch.randn_like(mu) * (0.5 * log_var).exp())

    diagnosed(sick, "AG101", "return (mu + noise).detach()", "to_stats.weight", severity="warning")
    silent(healthy)


def test_policy_gradient_with_the_wrong_factor_detached():
    """The advantage is what to detach; detaching the log probability leaves the policy without gradient."""

    def sick():
        policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()])
        dist = torch.distributions.Categorical(logits=policy(X))
        advantage = torch.randn(8) - critic(X).squeeze(-1)
        log_prob = dist.log_prob(dist.sample()).detach()
        trained(optimizer, -(log_prob * advantage).mean() + advantage.pow(2).mean())

    def healthy():
        policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()])
        dist = torch.distributions.Categorical(logits=policy(X))
        advantage = torch.randn(8) - critic(X).squeeze(-1)
        log_prob = dist.log_prob(dist.sample())
        trained(optimizer, -(log_prob * advantage.detach()).mean() + advantage.pow(2).mean())

    diagnosed(sick, "AG101", "dist.sample()).detach()", "policy.weight", severity="warning")
    silent(healthy)


def test_data_attribute_in_forward():
    """`.data` cuts like `.detach()`: in a forward, or on a parameter; reading it for a log is harmless."""

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.log_scale = nn.Linear(4, 2), nn.Parameter(torch.zeros(()))

        def forward(self, x):
            return self.fc(x) * self.log_scale.data.exp()

    class Logged(Scaled):
        def forward(self, x):
            self.last = self.log_scale.data.exp().item()
            return self.fc(x) * self.log_scale.exp()

    def program(kind):
        net = kind()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, F.cross_entropy(net(X), Y))

    def sick():
        program(Scaled)

    def healthy():
        program(Logged)

    diagnosed(sick, "AG101", "log_scale.data.exp()", "log_scale", severity="warning", where=Scaled.forward)
    silent(healthy)


def test_features_detached_in_front_of_running_statistics():
    """Statistics that one round leaves for the next are no graph: the output itself is right in each backward."""

    def sick():
        encoder, norm, head = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)
        optimizer = torch.optim.AdamW(nn.ModuleList([encoder, norm, head]).parameters(), lr=1e-3)
        for _ in range(3):
            features = norm(encoder(X).data)
            trained(optimizer, F.cross_entropy(head(features), Y))

    found = diagnosed(sick, "AG101", "encoder(X).data", "encoder.weight", "Use the tensor itself", severity="warning")
    assert found.edits

"""Generative: the gradient penalty lost its create_graph, so that the critic's penalty is a constant."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class Generator(nn.Module):
    def __init__(self, latent_dim, img_shape):
        super().__init__()

        def block(in_feat, out_feat, normalize=True):
            layers = [nn.Linear(in_feat, out_feat)]
            if normalize:
                layers.append(nn.BatchNorm1d(out_feat, 0.8))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers

        self.img_shape = img_shape
        self.model = nn.Sequential(
            *block(latent_dim, 16, normalize=False),
            *block(16, 32),
            nn.Linear(32, img_shape[1] * img_shape[2]),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.model(z).view(z.shape[0], *self.img_shape)


class Discriminator(nn.Module):
    def __init__(self, img_shape):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(img_shape[1] * img_shape[2], 32),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(32, 16),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(16, 1),
        )

    def forward(self, img):
        return self.model(img.view(img.shape[0], -1))


def compute_gradient_penalty(D, real_samples, fake_samples):
    """Calculates the gradient penalty loss for WGAN GP."""
    alpha = torch.rand(real_samples.size(0), 1, 1, 1)
    interpolates = (alpha * real_samples + (1 - alpha) * fake_samples).requires_grad_(True)
    d_interpolates = D(interpolates)
    gradients = torch.autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones_like(d_interpolates),
        create_graph=False,  # cause
    )[0]
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def run(lambda_gp=10, n_critic=2):
    torch.manual_seed(5)
    img_shape = (1, 6, 6)
    generator, discriminator = Generator(4, img_shape), Discriminator(img_shape)
    optimizer_G = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    dataset = torch.rand(32, *img_shape) * 2 - 1
    penalties = []
    for i, real_imgs in enumerate(dataset.split(8)):
        optimizer_D.zero_grad()
        z = torch.randn(real_imgs.shape[0], 4)
        fake_imgs = generator(z)
        real_validity = discriminator(real_imgs)
        fake_validity = discriminator(fake_imgs.detach())
        gradient_penalty = compute_gradient_penalty(discriminator, real_imgs, fake_imgs.detach())
        d_loss = -torch.mean(real_validity) + torch.mean(fake_validity) + lambda_gp * gradient_penalty
        d_loss.backward()
        optimizer_D.step()
        penalties.append(gradient_penalty)

        optimizer_G.zero_grad()
        if i % n_critic == 0:
            fake_imgs = generator(z)
            g_loss = -torch.mean(discriminator(fake_imgs))
            g_loss.backward()
            optimizer_G.step()
    return penalties


def verify(penalties):
    assert all(p.grad_fn is None or not p.requires_grad for p in penalties)


TRUTH = Truth(
    fault="the gradient penalty has no graph, it does not train the critic",
    names=("create_graph",),
    repair=("create_graph=True,",),
)

"""DreamerV2/V3: the discrete latent is drawn by sample() in place of rsample(), so the decoder's loss does not reach the encoder."""

import torch
from torch import nn
from torch.distributions import Independent, OneHotCategorical, OneHotCategoricalStraightThrough, kl_divergence
from torch.nn import functional as F

from tests.practice.truth import Truth

CFG = {"stoch": 3, "classes": 4, "deter": 10, "free": 0.05, "dyn": 0.5, "rep": 0.1, "unimix": 0.01}


class RSSM(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        flat = CFG["stoch"] * CFG["classes"]
        self.img_in = nn.Sequential(nn.Linear(flat + n_act, 10), nn.SiLU())
        self.cell = nn.GRUCell(10, CFG["deter"])
        self.img_out = nn.Linear(CFG["deter"], flat)
        self.encoder = nn.Sequential(nn.Linear(n_obs, 12), nn.LayerNorm(12), nn.SiLU())
        self.obs_out = nn.Linear(CFG["deter"] + 12, flat)

    def dist(self, logits):
        logits = logits.unflatten(-1, (CFG["stoch"], CFG["classes"]))
        probs = (1 - CFG["unimix"]) * logits.softmax(-1) + CFG["unimix"] / CFG["classes"]
        return Independent(OneHotCategoricalStraightThrough(probs=probs), 1)

    def obs_step(self, deter, stoch, action, embed):
        deter = self.cell(self.img_in(torch.cat((stoch, action), -1)), deter)
        prior = self.dist(self.img_out(deter))
        post = self.dist(self.obs_out(torch.cat((deter, embed), -1)))
        stoch = post.sample().flatten(1)  # cause
        return deter, stoch, prior, post

    @staticmethod
    def kl(lhs, rhs, stop):
        def sg(d):
            return Independent(OneHotCategorical(probs=d.base_dist.probs.detach()), 1)

        def plain(d):
            return Independent(OneHotCategorical(probs=d.base_dist.probs), 1)

        value = kl_divergence(*((sg(lhs), plain(rhs)) if stop == "post" else (plain(lhs), sg(rhs))))
        return value.clamp(min=CFG["free"]).mean()


class WorldModel(nn.Module):
    def __init__(self, n_obs=6, n_act=2):
        super().__init__()
        self.dynamics = RSSM(n_obs, n_act)
        feat = CFG["deter"] + CFG["stoch"] * CFG["classes"]
        self.decoder = nn.Sequential(nn.Linear(feat, 16), nn.SiLU(), nn.Linear(16, n_obs))
        self.reward = nn.Linear(feat, 1)

    def losses(self, obs, action, reward):
        steps, batch = action.shape[:2]
        embed = self.dynamics.encoder(obs)
        deter, stoch = obs.new_zeros(batch, CFG["deter"]), obs.new_zeros(batch, CFG["stoch"] * CFG["classes"])
        kl, feats = 0.0, []
        for t in range(steps):
            deter, stoch, prior, post = self.dynamics.obs_step(deter, stoch, action[t], embed[t])
            kl = kl + CFG["dyn"] * RSSM.kl(post, prior, "post") + CFG["rep"] * RSSM.kl(post, prior, "prior")
            feats.append(torch.cat((deter, stoch), -1))
        feat = torch.stack(feats)
        recon = F.mse_loss(self.decoder(feat), obs) + F.mse_loss(self.reward(feat).squeeze(-1), reward)
        return recon, kl / steps


def run():
    torch.manual_seed(0)
    model = WorldModel()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    reaches = []
    for _ in range(3):
        obs, action, reward = torch.randn(4, 5, 6), torch.randn(4, 5, 2), torch.randn(4, 5)
        recon, kl = model.losses(obs, action, reward)
        weight = model.dynamics.encoder[0].weight
        (grad,) = torch.autograd.grad(recon, weight, retain_graph=True, allow_unused=True)
        reaches.append(grad is not None and bool(grad.abs().sum() > 0))
        opt.zero_grad()
        (recon + kl).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1000.0)
        opt.step()
    return reaches


def verify(outcome):
    assert not any(outcome), outcome


TRUTH = Truth(
    fault="sample() of a straight-through distribution has no gradient (rsample() has): the reconstruction never trains the encoder",
    names=("sample", "stoch"),
    minor=True,
    repair=("stoch = post.rsample().flatten(1)",),
)

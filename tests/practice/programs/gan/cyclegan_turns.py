"""CycleGAN: the discriminators are frozen during the generators' turn, and judge detached images of a pool in theirs."""

import itertools
import random

import torch
from torch import nn

from tests.practice.truth import Truth


class ReplayBuffer:
    def __init__(self, max_size=6):
        self.max_size, self.data = max_size, []

    def push_and_pop(self, data):
        to_return = []
        for element in data.data:
            element = torch.unsqueeze(element, 0)
            if len(self.data) < self.max_size:
                self.data.append(element)
                to_return.append(element)
            elif random.uniform(0, 1) > 0.5:
                i = random.randint(0, self.max_size - 1)
                to_return.append(self.data[i].clone())
                self.data[i] = element
            else:
                to_return.append(element)
        return torch.cat(to_return)


def gen():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1, bias=False),
        nn.InstanceNorm2d(6, affine=True),
        nn.ReLU(),
        nn.Conv2d(6, 1, 3, padding=1),
    )


def disc():
    return nn.Sequential(nn.Conv2d(1, 6, 3, 2), nn.LeakyReLU(0.2), nn.Conv2d(6, 1, 2))


def set_requires_grad(nets, flag):
    for net in nets:
        for p in net.parameters():
            p.requires_grad = flag


def run():
    torch.manual_seed(0)
    random.seed(0)
    G_AB, G_BA, D_A, D_B = gen(), gen(), disc(), disc()
    mse, l1 = nn.MSELoss(), nn.L1Loss()
    opt_G = torch.optim.Adam(itertools.chain(G_AB.parameters(), G_BA.parameters()), lr=2e-3, betas=(0.5, 0.999))
    opt_D = torch.optim.Adam(itertools.chain(D_A.parameters(), D_B.parameters()), lr=2e-3, betas=(0.5, 0.999))
    sched = torch.optim.lr_scheduler.LambdaLR(opt_G, lambda e: 1.0 - max(0, e - 1) / 3)
    pool_A, pool_B = ReplayBuffer(), ReplayBuffer()
    log = []
    for _ in range(3):
        A, B = torch.rand(2, 1, 6, 6), torch.rand(2, 1, 6, 6)
        set_requires_grad([D_A, D_B], False)
        opt_G.zero_grad()
        fake_B, fake_A = G_AB(A), G_BA(B)
        pred_B, pred_A = D_B(fake_B), D_A(fake_A)
        loss_gan = mse(pred_B, torch.ones_like(pred_B)) + mse(pred_A, torch.ones_like(pred_A))
        loss_cycle = l1(G_BA(fake_B), A) + l1(G_AB(fake_A), B)
        loss_id = l1(G_BA(A), A) + l1(G_AB(B), B)
        loss_G = loss_gan + 10 * loss_cycle + 5 * loss_id
        loss_G.backward()
        opt_G.step()
        set_requires_grad([D_A, D_B], True)
        opt_D.zero_grad()
        for D, real, fake in ((D_A, A, pool_A.push_and_pop(fake_A)), (D_B, B, pool_B.push_and_pop(fake_B))):
            p_real, p_fake = D(real), D(fake.detach())
            loss_D = (mse(p_real, torch.ones_like(p_real)) + mse(p_fake, torch.zeros_like(p_fake))) * 0.5
            loss_D.backward()
        opt_D.step()
        sched.step()
        log.append((loss_G.item(), loss_D.item()))
    return (G_AB, G_BA, D_A, D_B), pool_A, log


TRUTH = Truth()


def verify(out):
    nets, pool, log = out
    assert all(p.grad is not None for net in nets for p in net.parameters())
    assert not any(image.requires_grad for image in pool.data)
    assert all(x < 1e3 for row in log for x in row)

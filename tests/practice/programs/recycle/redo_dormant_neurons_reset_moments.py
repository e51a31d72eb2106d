"""ReDo: dormant units get fresh incoming weights and zero outgoing weights, and their rows and columns in Adam's state are cleared."""

import torch
from torch import nn
from tests.practice.truth import Truth


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 16), nn.Linear(16, 3)
        self.scores = None
        self.fc1.register_forward_hook(self.measure)

    def measure(self, module, inputs, output):
        act = output.detach().relu().mean(0)
        self.scores = act / (act.mean() + 1e-9)

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())


@torch.no_grad()
def recycle(net, opt, threshold=0.1):
    dormant = net.scores <= threshold
    if not dormant.any():
        return dormant
    fresh = nn.Linear(4, 16)
    net.fc1.weight[dormant] = fresh.weight[dormant]
    net.fc1.bias[dormant] = 0.0
    net.fc2.weight[:, dormant] = 0.0
    for p, where in (
        (net.fc1.weight, (dormant,)),
        (net.fc1.bias, (dormant,)),
        (net.fc2.weight, (slice(None), dormant)),
    ):
        for key in ("exp_avg", "exp_avg_sq"):
            opt.state[p][key][where] = 0.0
    return dormant


def run():
    torch.manual_seed(0)
    net = QNet()
    with torch.no_grad():
        net.fc1.bias[:5] = -30.0  # dead on arrival
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    snaps, masks = [], []
    for step in range(4):
        x, a, target = torch.randn(32, 4), torch.randint(3, (32, 1)), torch.randn(32)
        out = net(x)
        opt.zero_grad()
        (out.gather(1, a).squeeze(1) - target).square().mean().backward()
        grads = {n: p.grad.clone() for n, p in net.named_parameters()}
        opt.step()
        if step == 1:
            with torch.no_grad():
                before = net(x)
            masks.append(recycle(net, opt))
            with torch.no_grad():
                masks.append((net(x) - before).abs().max())
        snaps.append((x, a, target, grads, {k: v.clone() for k, v in net.state_dict().items()}))
    return net, opt, snaps, masks


def verify(outcome):
    net, opt, snaps, (mask, jump) = outcome
    assert mask.sum() >= 5 and mask[:5].all() and jump < 0.2
    twin = QNet()
    for (_, _, _, _, state), (x, a, target, grads, _) in zip(snaps, snaps[1:]):
        twin.load_state_dict(state)
        loss = (twin(x).gather(1, a).squeeze(1) - target).square().mean()
        for (n, _), g in zip(twin.named_parameters(), torch.autograd.grad(loss, list(twin.parameters()))):
            assert torch.allclose(g, grads[n], atol=1e-6)
    dead_early = snaps[0][3]["fc1.weight"][:5]
    late = snaps[3]
    assert not dead_early.any() and late[3]["fc2.weight"][:, :5].abs().sum() > 0
    m = 0.1 * snaps[3][3]["fc2.weight"][:, :5] + 0.09 * snaps[2][3]["fc2.weight"][:, :5]
    assert torch.allclose(opt.state[net.fc2.weight]["exp_avg"][:, :5], m, atol=1e-6)
    assert all(not torch.equal(snaps[0][4][k], late[4][k]) for k in late[4])


TRUTH = Truth()

"""The edits of findings, made and run again: each cures its program, and nothing new is told."""

import pytest

from tests.edits.cured import changes, cured, report_of

CURES = {
    "a detach between encoder and head": (
        """
        enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
        h = enc(torch.randn(4, 3)).detach()  # features
        head(h).pow(2).mean().backward()
        opt.step()
        """,
        ["h = enc(torch.randn(4, 3))  # features"],
    ),
    "a loss that is wrapped again": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = net(torch.randn(4, 3)).pow(2).mean()
        loss = torch.tensor(loss.item(), requires_grad=True)
        loss.backward()
        opt.step()
        """,
        [],
    ),
    "losses that are copied into one tensor": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        losses = [net(torch.randn(4, 3)).pow(2).mean() for _ in range(2)]
        total = torch.tensor(losses, requires_grad=True).sum()
        total.backward()
        opt.step()
        """,
        ["total = torch.stack(losses).sum()"],
    ),
    "a no_grad block around what is trained": (
        '''
        enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
        x = torch.randn(4, 3)
        with torch.no_grad():
            # the encoder
            text = """
            a text
            """
            h = enc(x)
        head(h).pow(2).mean().backward()
        opt.step()
        ''',
        [],
    ),
    "a decorator": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        @torch.no_grad()
        def loss_of(x):
            return net(x).pow(2).mean()

        loss_of(torch.randn(4, 3)).backward()
        opt.step()
        """,
        [],
    ),
    "an augmented assignment after the save": (
        """
        net = nn.Linear(3, 3)
        h = torch.sigmoid(net(torch.randn(4, 3)))
        loss = h.pow(2).mean()
        h += 1 if True else 2
        loss.backward()
        """,
        ["h = h + (1 if True else 2)"],
    ),
    "a chain of methods in place": (
        """
        net = nn.Linear(3, 3)
        h = torch.tanh(net(torch.randn(4, 3)))
        loss = h.sum()
        h.add_(1).mul_(127.5)
        loss.backward()
        """,
        ["h = h.add(1).mul(127.5)"],
    ),
    "a part that is assigned": (
        """
        net = nn.Linear(3, 3)
        h = torch.tanh(net(torch.randn(4, 3)))
        loss = h.sum()
        h[:, 0] = 0.0
        loss.backward()
        """,
        ["h = h.clone()"],
    ),
    "an activation in place": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True), nn.Identity())
        net(torch.randn(4, 3)).sum().backward()
        """,
        ["net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=False), nn.Identity())"],
    ),
    "weights that are clamped before backward": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = net(torch.randn(4, 3)).mean()
        with torch.no_grad():
            for p in net.parameters():
                p.clamp_(-0.01, 0.01)
        loss.backward()
        opt.step()
        """,
        [],
    ),
    "gradients that nothing clears": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            opt.step()
        """,
        ["opt.zero_grad()"],
    ),
    "gradients that are cleared before the step": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss = net(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            opt.zero_grad()
            opt.step()
        """,
        [],
    ),
    "clipping after the step": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        """,
        [],
    ),
    "an optimizer that was made too early": (
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net[1] = nn.Linear(3, 2)
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        [],
    ),
    "assign=True after the optimizer": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net.load_state_dict(nn.Linear(3, 1).state_dict(), assign=True)
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ["net.load_state_dict(nn.Linear(3, 1).state_dict())"],
    ),
    "a parameter that is listed twice": (
        """
        a = nn.Linear(3, 3)
        opt = torch.optim.SGD([*a.parameters(), a.weight], lr=0.1)
        a(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        """,
        ["opt = torch.optim.SGD(list(dict.fromkeys([*a.parameters(), a.weight])), lr=0.1)"],
    ),
    "a sum that keeps every graph": (
        """
        net = nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        total = 0.0
        for _ in range(5):
            opt.zero_grad()
            loss = net(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            opt.step()
            total += loss
        """,
        ["total += loss.detach()"],
    ),
    "features that are kept over the rounds": (
        """
        emb, head = nn.Embedding(5, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD([*emb.parameters(), *head.parameters()], lr=0.1)
        feats = emb(torch.arange(5)) * 2
        for _ in range(2):
            opt.zero_grad()
            head(torch.tanh(feats)).pow(2).mean().backward()
            opt.step()
        """,
        [],
    ),
    "a state that is carried over": (
        """
        cell = nn.RNNCell(2, 3)
        opt = torch.optim.SGD(cell.parameters(), lr=0.1)
        h = torch.zeros(1, 3)
        for _ in range(3):
            opt.zero_grad()
            h = cell(torch.randn(1, 2), h)
            h.pow(2).mean().backward()
            opt.step()
        """,
        ["h = h.detach()"],
    ),
}


@pytest.mark.parametrize("name", CURES)
def test_the_edits_of_a_report_cure_it(tmp_path, name):
    """The patched program has no finding any more, and differs in the expected lines alone."""
    before, lines = CURES[name]
    after = cured(tmp_path, before)
    assert after
    assert changes(before, after) == lines


def test_a_root_is_kept_away_from_zero(tmp_path):
    """What is not finite in backward alone is computed of a sum with a small number, in brackets if need be."""
    before = """
        net = nn.Linear(3, 3)
        x = torch.randn(2, 3)
        d = (net(x) - net(x)).pow(2).sum(1).sqrt()
        d.sum().backward()
    """
    report, path = report_of(tmp_path, before, values=True)
    assert changes(before, report.patched()[str(path)]) == ["d = ((net(x) - net(x)).pow(2).sum(1) + 1e-12).sqrt()"]

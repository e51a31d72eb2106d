"""Edits of values that are not finite, and of gradients that are zero: each cures its program."""

import pytest

from tests.edits.cured import changes, cured

_ROUNDS = """
{head}
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(6, 4)
for _ in range(2):
    opt.zero_grad()
{body}
    loss.backward()
    opt.step()
"""


CASES = {
    "a row that is masked wholly by what is added": (
        "s, mask = net(x), x * 0\nmask[2] = float('-inf')\nloss = (s + mask).softmax(-1)[:, 0].pow(2).mean()",
        "mask[2] = -1e9",
    ),
    "a mask of infinity that is made whole": (
        "bias = torch.full((6, 4), float('-inf')).triu()\nloss = torch.softmax(net(x) + bias, -1)[:, 0].pow(2).mean()",
        "bias = torch.full((6, 4), -1e9).triu()",
    ),
    "a mask that is written in place": (
        (
            "s, mask = net(x), x != x\nmask[2] = True\ns.masked_fill_(mask, -float('inf'))\n"
            "loss = s.softmax(-1)[:, 0].pow(2).mean()"
        ),
        "s.masked_fill_(mask, -1e9)",
    ),
    "a power that is too large": (
        "loss = net(x * 1000).pow(16).mean()",
        "loss = net(x * 1000).clamp(-1e2, 1e2).pow(16).mean()",
    ),
    "a deviation of one value that has a gradient": (
        "loss = (torch.std(net(x[:1]), dim=0) + net(x)).pow(2).mean()",
        "loss = ((torch.var(net(x[:1]), dim=0, correction=0) + 1e-12).sqrt() + net(x)).pow(2).mean()",
    ),
    "a number that is divided by zero": (
        "y = net(x).relu()\nloss = (1 / y).mean()",
        "loss = (1 / torch.where(y == 0, 1, y)).mean()",
    ),
    "NaN of the targets that a mask leaves out at the end": (
        (
            "t = torch.randn(6, 4)\nt[0, 0] = float('nan')\nerr = (net(x) - t).pow(2)\n"
            "loss = torch.where(torch.isnan(t), torch.zeros_like(err), err).mean()"
        ),
        "err = (net(x) - t.nan_to_num()).pow(2)",
    ),
    "NaN of the data that a layer reads": (
        (
            "z = x.clone()\nz[0, 0] = float('nan')\ny = net(z)\n"
            "loss = torch.where(torch.isnan(y), torch.zeros_like(y), y).pow(2).mean()"
        ),
        "y = net(z.nan_to_num())",
    ),
    "a clamp outside its bounds": (
        "loss = (net(x).clamp(100, 200) - 1).pow(2).mean()",
        "loss = (((soft := net(x)) + (soft.clamp(100, 200) - soft).detach()) - 1).pow(2).mean()",
    ),
    "a clamp in place": (
        "y = net(x)\ny.clamp_(100, 200)\nloss = (y - 1).pow(2).mean()",
        "y = y + (y.clamp(100, 200) - y).detach()",
    ),
    "a method relu of negative values": (
        "loss = ((net(x) - 100).relu() - 1).pow(2).mean()",
        "loss = (torch.nn.functional.leaky_relu(net(x) - 100) - 1).pow(2).mean()",
    ),
    "a softmax of one score": (
        "loss = (net(x)[:, :1].softmax(1) - 0.2).pow(2).mean()",
        "loss = (torch.sigmoid(net(x)[:, :1]) - 0.2).pow(2).mean()",
    ),
    "a saturated sigmoid that a loss of probabilities reads": (
        "y = torch.sigmoid(net(x) * 1e6)\nloss = nn.functional.binary_cross_entropy(y, torch.rand(6, 4))",
        "loss = nn.functional.binary_cross_entropy_with_logits(y, torch.rand(6, 4))",
    ),
    "a one-hot vector of a sample": (
        (
            "d = torch.distributions.Categorical(logits=net(x))\nz = nn.functional.one_hot(d.sample(), 4).float()\n"
            "loss = (z - x).pow(2).mean()"
        ),
        "z = d.probs + (nn.functional.one_hot(d.sample(), 4).float() - d.probs).detach()",
    ),
    "a sample of a distribution without a name": (
        "z = torch.distributions.Bernoulli(net(x).sigmoid()).sample()\nloss = (z - x).pow(2).mean()",
        "z = dist.probs + (dist.sample() - dist.probs).detach()",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_edit_keeps_values_finite_or_lets_gradients_through(tmp_path, name):
    """Nothing is told of the program with it."""
    body, line = CASES[name]
    text = _ROUNDS.format(head="", body="\n".join(f"    {each}" for each in body.split("\n")))
    assert line in changes(text, cured(tmp_path, text, values=True))


LEARNED = """
level = nn.Parameter(torch.tensor({start}))
opt = torch.optim.SGD([level], lr=0.1)
x = torch.randn(6, 4)
for _ in range(2):
    opt.zero_grad()
    {body}
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            "loss = torch.linspace(0.0, level, 5).pow(2).mean()",
            "loss = (level * torch.linspace(0, 1, 5)).pow(2).mean()",
        ),
        (
            "loss = torch.linspace(1.0, level, 5).pow(2).mean()",
            "loss = (1.0 + (level - 1.0) * torch.linspace(0, 1, 5)).pow(2).mean()",
        ),
        (
            "loss = ((x > level).float() * x).pow(2).mean()",
            "loss = (((soft := (x - level).sigmoid()) + ((x > level).float() - soft).detach()) * x).pow(2).mean()",
        ),
    ],
)
def test_what_is_made_of_a_learned_number_has_its_gradient(tmp_path, body, line):
    """The ends of a range, and the threshold of a comparison."""
    text = LEARNED.format(start="0.5", body=body)
    assert line in changes(text, cured(tmp_path, text, values=True))


@pytest.mark.parametrize(
    ("head", "call", "line"),
    [
        ("crit = nn.CTCLoss()", "crit", "crit = nn.CTCLoss(zero_infinity=True)"),
        ("", "nn.functional.ctc_loss", "short, torch.tensor([6]), torch.tensor([6]), zero_infinity=True)"),
    ],
)
def test_a_ctc_loss_without_an_alignment_counts_as_zero(tmp_path, head, call, line):
    """The module is made with the option, or the function is given it."""
    text = f"""
{head}
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, short, long = torch.randn(6, 2, 4), torch.tensor([[1, 1, 2, 2, 3, 3], [1, 2, 0, 0, 0, 0]]), torch.tensor([6, 2])
for _ in range(2):
    opt.zero_grad()
    {call}(net(x).log_softmax(-1), short, torch.tensor([6, 6]), long).backward()
    opt.step()
"""
    assert any("zero_infinity=True" in new for new in changes(text, cured(tmp_path, text, values=True)))

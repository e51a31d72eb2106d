"""Steps that come in the wrong mode, or change a gradient that is read afterwards (AG408, AG410, AG411)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a seed is set in each round": case(
        "AG411",
        """
net = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5), nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
masks = []
net[1].register_forward_hook(lambda module, args, output: masks.append(output.detach() == 0))
for _ in range(3):
    torch.manual_seed(3)
    probe = torch.randn(2, 4)
    optimizer.zero_grad()
    net(torch.ones(3, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Seed once, before training",
            "for _ in range(3):\n    torch.manual_seed(3)\n",
            "torch.manual_seed(3)\nfor _ in range(3):\n",
        ),
        by(
            "pass it a separate generator",
            "    torch.manual_seed(3)\n    probe = torch.randn(2, 4)",
            "    probe = torch.randn(2, 4, generator=torch.Generator().manual_seed(3))",
        ),
        by(
            "or call it under `torch.random.fork_rng()`",
            "    torch.manual_seed(3)\n    probe =",
            "    with torch.random.fork_rng():\n        torch.manual_seed(3)\n        probe =",
        ),
        symptom="torch.equal(masks[0], masks[1])",
    ),
    "eval() does not reach the layers of a part": case(
        "AG411",
        """
class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)
    def forward(self, x):
        return self.drop(self.layer(x))
    def train(self, mode=True):
        self.training = mode
        return self
net = nn.Sequential(Backbone(), nn.Linear(4, 2))
optimizer, x = torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(8, 4)
net(x).pow(2).mean().backward()
optimizer.step()
net.eval()
with torch.no_grad():
    same = torch.equal(net(x), net(x))
""",
        by(
            "Call `super().train(mode)` at the beginning of Backbone.train(): it sets the mode of all layers",
            "        self.training = mode\n",
            "        super().train(mode)\n",
        ),
        symptom="not same",
    ),
    "a frozen part goes on with its statistics": case(
        "AG411",
        """
net = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), nn.Linear(4, 2))
net[0].requires_grad_(False)
optimizer, x = torch.optim.SGD(net[1].parameters(), lr=0.1), torch.randn(8, 4) + 1
for _ in range(2):
    net.train()
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "If its statistics should stay as they are, call net.0.eval() after each train() of a model that contains it",
            "    net.train()\n",
            "    net.train()\n    net[0].eval()\n",
        ),
        symptom="bool(net[0][1].running_mean.any())",
    ),
    "eval() leaves the module itself in train mode": case(
        "AG411",
        """
class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)
    def forward(self, x):
        return self.drop(self.layer(x))
    def train(self, mode=True):
        super().train()
        return self
net = Backbone()
optimizer, x = torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(8, 4)
net(x).pow(2).mean().backward()
optimizer.step()
net.eval()
with torch.no_grad():
    same = torch.equal(net(x), net(x))
""",
        by("Pass the mode on in Backbone.train(): `super().train(mode)`", "super().train()", "super().train(mode)"),
        symptom="not same",
    ),
    "a loaded part is trained in eval mode": case(
        "AG411",
        """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = transformers.DistilBertModel.from_pretrained(path)
        self.head = nn.Linear(8, 2)
    def forward(self, ids):
        return self.head(self.body(input_ids=ids).last_hidden_state)
net = Tagger()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.arange(12).view(2, 6)).pow(2).mean().backward()
    optimizer.step()
""",
        by("Call net.body.train() before training begins", "net = Tagger()\n", "net = Tagger()\nnet.body.train()\n"),
        symptom="not net.body.training",
        before="""
import tempfile
import transformers
path = tempfile.mkdtemp()
config = transformers.DistilBertConfig(
    vocab_size=12, dim=8, n_layers=1, n_heads=2, hidden_dim=8, max_position_embeddings=8, dropout=0.2
)
transformers.DistilBertModel(config).save_pretrained(path)
""",
        needs="transformers",
    ),
    "a gradient is read after a step that changed it": case(
        "AG408",
        """
net = nn.Linear(4, 1)
optimizer = schedulefree.AdamWScheduleFree(net.parameters())
optimizer.train()
net(torch.full((3, 4), 3.0)).mean().backward()
optimizer.step()
size = net.weight.grad.norm()
""",
        by(
            "Read the gradient (norm, histogram, clipping) between backward() and step()",
            "size = net.weight.grad.norm()\n",
            "",
            "optimizer.step()",
            "size = net.weight.grad.norm()\noptimizer.step()",
        ),
        by(
            "the ...Reference classes do not modify .grad",
            "schedulefree.AdamWScheduleFree",
            "schedulefree.AdamWScheduleFreeReference",
        ),
        symptom="not torch.allclose(size, torch.tensor(6.0))",
    ),
    "a schedule-free optimizer is never put into train mode": case(
        "AG410",
        """
net = nn.Linear(4, 1)
optimizer = schedulefree.AdamWScheduleFree(net.parameters())
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by(
            "Call optimizer.train() before training (next to model.train())",
            "net(torch",
            "optimizer.train()\nnet(torch",
        ),
        by(
            "optimizer.eval() before evaluation",
            "net(torch",
            "optimizer.train()\nnet(torch",
            "optimizer.step()\n",
            "optimizer.step()\noptimizer.eval()\n",
        ),
    ),
    "a schedule-free checkpoint was saved in eval mode": case(
        "AG410",
        """
net = nn.Linear(4, 1)
optimizer = schedulefree.AdamWScheduleFree(net.parameters())
optimizer.train()
optimizer.load_state_dict(checkpoint)
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by(
            "Call optimizer.train() after optimizer.load_state_dict(...)",
            "optimizer.load_state_dict(checkpoint)",
            "optimizer.load_state_dict(checkpoint)\noptimizer.train()",
        ),
        before="""
first = nn.Linear(4, 1)
old = schedulefree.AdamWScheduleFree(first.parameters())
old.train()
first(torch.ones(3, 4)).mean().backward()
old.step()
old.eval()
checkpoint = copy.deepcopy(old.state_dict())
""",
    ),
    "a model is evaluated with schedule-free training weights": case(
        "AG410",
        """
net = nn.Linear(4, 1)
optimizer = schedulefree.AdamWScheduleFree(net.parameters())
optimizer.train()
for i in range(2):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    out = net(torch.ones(3, 4))
mode = optimizer.param_groups[0]["train_mode"]
net.train()
""",
        by(
            "Call optimizer.eval() before evaluating or saving (next to model.eval()), and optimizer.train() afterwards",
            "net.eval()",
            "net.eval()\noptimizer.eval()",
            "net.train()",
            "net.train()\noptimizer.train()",
        ),
        symptom="mode",
    ),
    "a model is trained in eval mode": case(
        "AG411",
        """
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(3, 4)
for epoch in range(3):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
    trained = model.training
    model.eval()
    with torch.no_grad():
        seen = model(x).pow(2).mean()
""",
        by(
            "Call model.train() after the evaluation, before training continues",
            "        seen = model(x).pow(2).mean()\n",
            "        seen = model(x).pow(2).mean()\n    model.train()\n",
        ),
        by(
            "`was_training = model.training` before `model.eval()`, `model.train(was_training)` after the evaluation",
            "    model.eval()\n",
            "    was_training = model.training\n    model.eval()\n",
            "        seen = model(x).pow(2).mean()\n",
            "        seen = model(x).pow(2).mean()\n    model.train(was_training)\n",
        ),
        symptom="not trained",
    ),
    "a teacher is in train mode": case(
        "AG411",
        """
student = nn.Linear(4, 2)
teacher = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2)).requires_grad_(False)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.randn(3, 4)
for i in range(2):
    optimizer.zero_grad()
    with torch.no_grad():
        goal = teacher(x)
    F.mse_loss(student(x), goal).backward()
    optimizer.step()
""",
        by("Call teacher.eval() before training", "optimizer = torch", "teacher.eval()\noptimizer = torch"),
        symptom="teacher.training",
    ),
    "a teacher is put into train mode with its student": case(
        "AG411",
        """
class Distilled(nn.Module):
    def __init__(self):
        super().__init__()
        self.student = nn.Linear(4, 2)
        self.teacher = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2)).requires_grad_(False)
        self.teacher.eval()
    def forward(self, x):
        with torch.no_grad():
            goal = self.teacher(x)
        return F.mse_loss(self.student(x), goal)
net = Distilled()
optimizer = torch.optim.SGD(net.student.parameters(), lr=0.1)
net.train()
for i in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).backward()
    optimizer.step()
""",
        by(
            "Call net.teacher.eval() after each train() of the enclosing model",
            "net.train()",
            "net.train()\nnet.teacher.eval()",
        ),
        by(
            "override train() of that model to do so",
            "    def forward",
            "    def train(self, mode=True):\n        super().train(mode)\n        self.teacher.eval()\n        return self\n    def forward",
        ),
        symptom="net.teacher.training",
    ),
    "batch norms are put back into train mode": case(
        "AG411",
        """
class Net(nn.Sequential):
    pass
net = Net(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 1))
start = net[1].running_mean.clone()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    net[1].eval()
    net.train()
    optimizer.zero_grad()
    net(torch.linspace(-1, 1, 32).reshape(8, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by("Call eval() of the layer after Net.train()", "    net.train()\n", "    net.train()\n    net[1].eval()\n"),
        by(
            "override train() of the model to do so",
            "    pass\n",
            "    def train(self, mode=True):\n        super().train(mode)\n        self[1].eval()\n        return self\n",
        ),
        symptom="not torch.equal(start, net[1].running_mean)",
    ),
    "a dropout is not told the mode": case(
        "AG411",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        return self.last(F.dropout(self.first(x), 0.5))
net = Net().eval()
x = torch.ones(64, 4)
with torch.no_grad():
    out = net(x)
""",
        by("`training=self.training`", "(x), 0.5)", "(x), 0.5, training=self.training)"),
        by(
            "use an nn.Dropout module",
            "F.dropout(self.first(x), 0.5)",
            "self.drop(self.first(x))",
            "nn.Linear(8, 1)",
            "nn.Linear(8, 1)\n        self.drop = nn.Dropout(0.5)",
        ),
        symptom="not torch.equal(out[0], out[1])",
    ),
    "attention drops values in eval mode": case(
        "AG411",
        """
class Net(nn.Module):
    def forward(self, x):
        p = 0.5
        return F.scaled_dot_product_attention(x, x, x, dropout_p=p)
net = Net().eval()
x = torch.randn(1, 4, 8)
out, again = net(x), net(x)
""",
        by("`dropout_p=p if self.training else 0.0`", "dropout_p=p", "dropout_p=p if self.training else 0.0"),
        symptom="not torch.equal(out, again)",
    ),
    "samples are drawn in train mode": case(
        "AG411",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
x = torch.linspace(-1, 1, 32).reshape(8, 4)
with torch.no_grad():
    net.train()
    samples = torch.stack([net(x) for _ in range(5)])
""",
        by(
            "Put only the dropouts into train mode",
            "    net.train()\n",
            "    net.eval()\n    for m in net.modules():\n        if isinstance(m, nn.Dropout):\n            m.train()\n",
        ),
        symptom="net[1].num_batches_tracked > 0",
    ),
    "a ratio of two dropout masks": case(
        "AG411",
        """
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.linspace(-1, 1, 32).reshape(8, 4)
with torch.no_grad():
    old = net(x).log_softmax(-1)[:, 0]
new = net(x).log_softmax(-1)[:, 0]
ratio = (new - old).exp()
optimizer.zero_grad()
ratio.mean().backward()
optimizer.step()
""",
        by("Call net.eval() before both calls", "with torch.no_grad", "net.eval()\nwith torch.no_grad"),
        by("Or train without dropout", "nn.Dropout(0.5)", "nn.Dropout(0.0)"),
        symptom="not torch.allclose(ratio, torch.ones(8))",
    ),
    "samples are drawn in eval mode": case(
        "AG411",
        """
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
net.eval()
x = torch.ones(3, 4)
with torch.no_grad():
    samples = torch.stack([net(x) for _ in range(5)])
""",
        by(
            "`for m in net.modules(): if isinstance(m, nn.Dropout): m.train()`",
            "net.eval()",
            "net.eval()\nfor m in net.modules():\n    if isinstance(m, nn.Dropout):\n        m.train()",
        ),
        by(
            "one call is enough",
            "torch.stack([net(x) for _ in range(5)])",
            "net(x)[None]",
        ),
        symptom="len(samples) > 1 and torch.equal(samples[0], samples[1])",
    ),
    "average updated in eval mode": case(
        "AG411",
        """
class Centered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.lin = nn.Linear(4, 4)
    def forward(self, x):
        if True:
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return self.lin(x - self.mean)
net = Centered()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    net.train()
    optimizer.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
    net.eval()
    before = net.mean.clone()
    with torch.no_grad():
        net(torch.randn(8, 4) + 3)
""",
        by("update it under `if self.training:`", "if True:", "if self.training:"),
        symptom="not torch.equal(net.mean, before)",
    ),
}

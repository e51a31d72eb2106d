"""State on another device, or of another dtype, than its parameter (AG401, AG402)."""

from __future__ import annotations

from tests.fixes.cases import by, case

TRAINED = """
net = nn.Linear(4, 2)
x = torch.ones(3, 4)
old = torch.optim.Adam(net.parameters(), lr=0.1)
net(x).mean().backward()
old.step()
old.zero_grad()
checkpoint = copy.deepcopy(old.state_dict())
"""

CASES = {
    "state is on another device": case(
        "AG401",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
for state in optimizer.state.values():
    state["exp_avg"] = state["exp_avg"].to("meta")
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by("State on meta has no data: load it again", "net(torch", "optimizer.load_state_dict(checkpoint)\nnet(torch"),
        before=TRAINED,
    ),
    "the model is moved after its optimizer was loaded": case(
        "AG401",
        """
torch.__future__.set_swap_module_params_on_conversion(True)
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
net.to("meta")
torch.__future__.set_swap_module_params_on_conversion(False)
""",
        by(
            "Move the model first, then build the optimizer and load its state",
            'net.to("meta")\n',
            "",
            "optimizer = torch",
            'net.to("meta")\noptimizer = torch',
        ),
        by(
            "To move the existing state: `",
            "conversion(False)",
            "conversion(False)\nfor p, s in optimizer.state.items():\n    s.update({k: s[k].to(p.device) for k in ('exp_avg', 'exp_avg_sq')})",
        ),
        before=TRAINED,
        symptom="optimizer.state[net.weight]['exp_avg'].device != net.weight.device",
    ),
    "a step of one's own makes state on another device": case(
        "AG401",
        """
class Momentum(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p not in self.state:
                    self.state[p]["buffer"] = torch.zeros(p.shape)
net = nn.Linear(4, 2).to("meta")
optimizer = Momentum(net.parameters())
net(torch.ones(3, 4, device="meta")).mean().backward()
optimizer.step()
""",
        by("`torch.zeros_like(p)`", "torch.zeros(p.shape)", "torch.zeros_like(p)"),
        by("with `device=p.device`", "torch.zeros(p.shape)", "torch.zeros(p.shape, device=p.device)"),
        symptom="optimizer.state[net.weight]['buffer'].device != net.weight.device",
    ),
    "the model is converted after the optimizer was loaded": case(
        "AG402",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
net.double()
net(torch.ones(3, 4).double()).mean().backward()
optimizer.step()
""",
        by(
            "Convert the model first, then build the optimizer and load its state",
            "net.double()\n",
            "",
            "optimizer = torch",
            "net.double()\noptimizer = torch",
        ),
        by(
            "`optimizer.load_state_dict(optimizer.state_dict())` casts it",
            "net.double()\n",
            "net.double()\noptimizer.load_state_dict(optimizer.state_dict())\n",
        ),
        before=TRAINED,
    ),
    "a load casts the state down": case(
        "AG402",
        """
net = nn.Linear(4, 2).bfloat16()
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint)
loss = net(x.to(net.weight.dtype)).mean()
""",
        by(
            "`net.to(torch.float32)` before the optimizer is built and loaded",
            "optimizer = torch",
            "net.to(torch.float32)\noptimizer = torch",
        ),
        by(
            "Compute in the lower precision under torch.autocast",
            "optimizer = torch",
            "net.to(torch.float32)\noptimizer = torch",
            "loss =",
            'with torch.autocast("cpu", dtype=torch.bfloat16):\n    loss =',
        ),
        before=TRAINED,
        symptom="optimizer.state[net.weight]['exp_avg'].dtype == torch.bfloat16",
    ),
    "a load casts state of one's own optimizer": case(
        "AG402",
        """
net = nn.Linear(4, 2).bfloat16()
optimizer = Counting(net.parameters(), lr=0.1)
optimizer.load_state_dict(saved)
""",
        by(
            "Restore the dtype after loading (`",
            "load_state_dict(saved)",
            "load_state_dict(saved)\nfor s in optimizer.state.values():\n    s.update({k: s[k].to(torch.float32) for k in ['buffer']})",
        ),
        by("override load_state_dict in the optimizer", "Counting(net", "Kept(net"),
        before="""
class Counting(torch.optim.SGD):
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["buffer"] = torch.zeros(p.shape)
class Kept(Counting):
    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        for s in self.state.values():
            s["buffer"] = s["buffer"].float()
first = nn.Linear(4, 2)
own = Counting(first.parameters(), lr=0.1)
first(torch.ones(1, 4)).mean().backward()
own.step()
saved = own.state_dict()
""",
        symptom="optimizer.state[net.weight]['buffer'].dtype == torch.bfloat16",
    ),
    "float16 has no such eps": case(
        "AG402",
        """
dtype, device = torch.float16, "cpu"
net = nn.Linear(4, 1).to(dtype)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.ones(3, 4, dtype=dtype)
for i in range(2):
    optimizer.zero_grad()
    with torch.autocast(device, enabled=False):
        loss = net(x).float().mean() * 1e-5
    loss.backward()
    optimizer.step()
""",
        by(
            "Keep the parameters in float32 and compute in float16 under torch.autocast() with a GradScaler",
            "net = nn.Linear(4, 1).to(dtype)",
            "net, scaler = nn.Linear(4, 1), torch.amp.GradScaler(device)",
            "x = torch.ones(3, 4, dtype=dtype)",
            "x = torch.ones(3, 4)",
            "torch.autocast(device, enabled=False)",
            "torch.autocast(device, dtype)",
            "    loss.backward()\n    optimizer.step()",
            "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()",
        ),
        by("in bfloat16", "dtype, device = torch.float16", "dtype, device = torch.bfloat16"),
        by("`Adam(..., eps=1e-4)`", "lr=1e-3", "lr=1e-3, eps=1e-4"),
        symptom="not net.weight.isfinite().all()",
    ),
}

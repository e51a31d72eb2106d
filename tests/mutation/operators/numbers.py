"""Values and gradients that are not finite. The inspector has to read numbers for these."""

from tests.mutation.kinds import PARTIAL

from .flowing import replacing

KINDS = (
    replacing("log of zero", "torch.log(({}) * 0)", values_read=True),
    replacing("root of zero", "(({}) + torch.sqrt(({}) * 0))", values_read=True),
    replacing("zero by zero", "(({}) * 0 / (({}).detach() * 0))", values_read=True),
    replacing(
        "root hidden by where",
        "torch.where(({}) > 0, torch.sqrt(({}) * (({}) > 0)), ({}))",
        values_read=True,
        sound=PARTIAL,  # Of numbers above zero alone it is their root.
    ),
    replacing("deviation of one", "(({}) / ({})[..., :1].std(-1, keepdim=True))", dims=1, values_read=True),
    replacing("clamped away", "({}).clamp(1e4, 1e5)", values_read=True),
    replacing(
        "masked wholly", "torch.softmax(({}).masked_fill(({}) == ({}), float('-inf')), -1)", dims=2, values_read=True
    ),
    replacing("overflow", "torch.exp(({}) * 0 + 100.0)", values_read=True),
)

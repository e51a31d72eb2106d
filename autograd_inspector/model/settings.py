"""The hyper-parameters of parameter groups, as values."""

from __future__ import annotations

from msgspec import Struct


class SettingText(Struct, frozen=True, gc=False, tag_field="kind", tag="text"):
    """What is none of the plain values that a report can hold, as it reads: infinity, NaN, an enum's member."""

    text: str

    def __str__(self) -> str:
        return self.text


PlainSetting = None | bool | int | float | str | SettingText
Setting = PlainSetting | tuple[PlainSetting, ...]
Settings = dict[str, Setting]


def is_off(value: Setting) -> bool:
    """Whether the step does without: not set, False, a zero of either sign."""
    return value is None or value == "" or (isinstance(value, int | float) and value == 0)


def setting_text(value: Setting) -> str:
    """As Python writes it: ``0.1``, ``None``, ``(0.9, 0.999)``."""
    if not isinstance(value, tuple):
        return str(value)
    inner = ", ".join(str(item) if isinstance(item, SettingText) else repr(item) for item in value)
    return f"({inner},)" if len(value) == 1 else f"({inner})"

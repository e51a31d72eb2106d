"""Lines of the program as they are quoted within a sentence."""

from __future__ import annotations

import io
import tokenize


def uncommented(source: str) -> str:
    """The line without the comment at its end, which tells a reader of the advice nothing."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                return source[: token.start[1]].strip()
    except (tokenize.TokenError, SyntaxError):
        pass  # A line is not a program: what came before the comment has been read.
    return source.strip()

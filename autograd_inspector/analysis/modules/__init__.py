"""Modules: how their parameters came to be, which of them take turns, in which mode they train."""

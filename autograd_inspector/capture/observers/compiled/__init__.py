"""Calls of compiled code."""

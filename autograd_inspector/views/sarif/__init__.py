"""SARIF, which code hosts show as annotations."""

from tests.shells import plain_shell, shell

__all__ = ["plain_shell", "shell"]

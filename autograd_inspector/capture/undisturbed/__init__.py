"""How torch is watched so that the program does not notice: everything put in place is taken away again."""

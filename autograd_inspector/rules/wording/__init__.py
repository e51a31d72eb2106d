"""How findings speak: lines, names and code of the program within a sentence."""

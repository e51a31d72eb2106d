"""The doors of other frameworks, with the real libraries on tiny configurations."""

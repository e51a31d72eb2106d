"""Pages: static ones without a script, and one with the widget in it."""

"""The doors for people: magics in notebooks, commands in terminals."""

"""The cases by what is wrong: each module has CASES, name -> case."""

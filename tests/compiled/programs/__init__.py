"""Small trainings with compiled code: RULES, NAMES and the line that ends with `# cause` say what is wrong."""

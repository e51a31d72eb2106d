"""An inspected program computes, raises and leaves behind what it does without the inspector."""

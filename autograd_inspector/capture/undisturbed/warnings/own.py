"""The inspector's own warning."""


class InspectorWarning(UserWarning):
    """The inspector itself failed or could not look; the program was not disturbed."""

"""Questions that are asked of the statistics over the steps."""

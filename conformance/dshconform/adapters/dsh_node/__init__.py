"""The adapter of the published npm packages."""

"""All checks of the suite, their selection, and the replay of one saved example."""

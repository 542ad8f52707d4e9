"""One folder per implementation that the suite knows how to start."""

"""Contract machines: abstract models that interpret commands, their generator and minimiser."""

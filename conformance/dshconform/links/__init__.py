"""Links to an implementation: in process, or over the standard streams of a subprocess."""

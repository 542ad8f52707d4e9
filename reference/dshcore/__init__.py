"""The reference implementation of the harness core."""

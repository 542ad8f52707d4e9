"""The conformance suite: it drives any implementation of the harness core and shows where it differs."""

__version__ = "0.1.0"

"""Scenarios: short deterministic scripts of commands with the observations that the clauses demand."""

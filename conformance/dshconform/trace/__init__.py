"""Patterns over observations, their comparison, and what holds of any trace."""

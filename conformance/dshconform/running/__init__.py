"""Running checks: drive a world, collect verdicts, keep the ledger."""

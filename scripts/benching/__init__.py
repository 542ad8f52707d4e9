"""What `scripts/bench.py` measures: sides that are driven, how they are timed, growth and rates."""

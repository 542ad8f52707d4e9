"""What stands behind each clause on its page: code that cites it, checks and faults that hold it, and its status."""

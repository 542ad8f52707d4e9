"""Two implementations side by side: where both satisfy the clauses and still differ, the specification has a hole."""

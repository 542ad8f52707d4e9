"""`python -m dshconform.adapters.reference`: the reference as an adapter program."""

from dshconform.adapters.reference.stdio import main

main()

"""`python -m dshconform` is `dshconform`."""

from dshconform.cli import main

if __name__ == "__main__":
    main()

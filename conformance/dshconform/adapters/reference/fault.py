"""What an adapter says when a command cannot be executed at all."""


class Fault(Exception):
    """A command is unknown or malformed: the suite's mistake, never the implementation's refusal.

    The reply carries the text as `fault`, so it names the command and the argument.
    """

"""The adapter of the Python reference: the lockstep protocol around one composed root.

It is also the model for an adapter of your own. These modules are the protocol:

- `adapter` turns a command into a reply, `stdio` carries both over a pipe;
- `world` has the event loop, the rows and the gates of one world, `places` says where a command stands;
- `dispatch` is the one table of operations, `commands` calls one of them and records what came of it;
- `functions` are the suite's functions, `calls` a call of one, `scripts` and `actions` what it does, `endings` how it
  ends, `streams` the calls that answer a stream, `gates` the answers of the suite;
- `values` and `paths` read and write the value notation, `scopes` says what the names in it stand for, `kept` holds
  values for the suite.

And these know the implementation: `composition` (how it is composed, and what its agents are called), `operations`,
`tools` and `llm_operations` (which call each command makes), `kinds`, `tool_forms`, `prompt_forms` and `llm_forms`
(what its hooks hand over and expect back), `models` (the adapter of a model), `observe` (what it tells), `failures`
(its errors). An adapter for another implementation in Python replaces them.
"""

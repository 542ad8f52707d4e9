"""The lockstep protocol: messages, observations, commands, and the schema generated from them."""

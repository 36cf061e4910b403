"""Pure functions from an Observation to a Rendering: no I/O, no clock, no randomness."""

"""What each command of the command line does; `harness/cli.py` only parses and calls."""

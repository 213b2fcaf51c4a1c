"""The command line `bloomline`: one module per command."""

"""Core modules that several protocols share."""

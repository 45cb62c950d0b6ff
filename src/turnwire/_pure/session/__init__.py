"""Core modules of sessions."""

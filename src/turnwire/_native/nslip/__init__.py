"""Core modules of nSLIP."""

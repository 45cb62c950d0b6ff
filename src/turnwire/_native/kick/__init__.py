"""Core modules of KickLang: envelopes and the Space Format."""

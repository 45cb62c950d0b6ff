"""The one finder: lines that belong together, documents, streams in pieces, text around messages, JSON in strings."""

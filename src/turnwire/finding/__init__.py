"""Finding messages in anything: a stream in pieces, the text around a message, JSON inside strings."""

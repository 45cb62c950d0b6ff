"""A wire of style "token": ``~ada>bob:hello~``."""

"""A wire of style "token": ``~ada>bob:hello~``. It has no bulk scanner."""

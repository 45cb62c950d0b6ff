"""A wire of style "object": ``{"note":"tell","id":"7","from":"ada","to":"bob","text":"hello"}``."""

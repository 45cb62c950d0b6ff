"""Reading that stands on a scan: decoder, extraction, explanations, checklists, statistics."""

"""Readers based on a scan: decoder, extraction, explanations, checklists, statistics."""

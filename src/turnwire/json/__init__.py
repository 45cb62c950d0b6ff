"""JSON: strict text, canonical form, JSON pointers, faults in words, and the plans by which logs are searched."""

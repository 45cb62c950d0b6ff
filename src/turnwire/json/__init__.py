"""JSON: strict text, canonical form, JSON pointers, faults in words, and the bulk scan of JSON wires."""

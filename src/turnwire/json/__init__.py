"""JSON: strict text, canonical form, JSON pointers, what a faulty text is told, and the bulk scan of JSON wires."""

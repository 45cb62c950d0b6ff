"""The search for records: bytes, carriers, matchers from left to right, records and rejects. See docs/theory.md."""

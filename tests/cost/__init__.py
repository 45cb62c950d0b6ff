"""What each entry may cost: hostile units, entries, and how cost is measured."""

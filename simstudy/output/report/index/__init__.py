"""What the index of a results folder says: studies by document, their claims, their state."""

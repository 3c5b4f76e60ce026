"""Stored results read without the code of their study, from what lies in their folder."""

"""Tests of the scores of two models, with their power and the scores that they need."""

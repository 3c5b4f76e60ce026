"""Small neural networks, many of them trained side by side."""

"""Figures for a journal: PDFs as wide as its columns, laid out anew with letters as large."""

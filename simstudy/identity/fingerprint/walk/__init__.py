"""A walk over everything that a class or function uses, as it is loaded.

Definitions are followed through the names that their code reads, to the objects bound to these
names now. So it does not matter how a name came to be bound: by an import under another name, by
a condition, a loop, a decorator, a table that another module filled, or a notebook's cell. What a
walk over live objects cannot see (statements that change something elsewhere, names looked up by
text, machine code) counts with the whole source of its module, and what has neither a source nor
a content counts as changed.

Each file follows one kind of thing and sees only those below it; what they come upon goes back to
`Walk.token`, which any value may be given to.
"""

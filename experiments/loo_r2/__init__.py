"""Standard errors of leave-one-out R² as published: study, figures and claims."""

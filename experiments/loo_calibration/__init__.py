"""Which standard error of leave-one-out utilities is right: study, figures and claims."""

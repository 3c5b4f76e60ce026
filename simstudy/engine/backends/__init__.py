"""Where tasks are computed: each a way from tasks to receipts."""

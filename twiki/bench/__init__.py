"""Benchmarks: figures for the budgets of the design, each a module with ``run()``."""

"""Datasets in, checkpoints and scores out.

::

    dataset folder ─▶ token blocks ─▶ train (one of the methods) ─▶ model folder
    model folder, dataset folder ─▶ evaluate ─▶ report

Needs torch, transformers, peft, numpy, pyarrow, safetensors and tokenizers, and nothing else
of the system; spaCy only for perplexity on proper nouns.
"""

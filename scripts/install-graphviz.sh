#!/usr/bin/env bash
# Makes graphviz's `dot` available where that needs no question asked. Never fails: only to_svg() and
# render() need `dot`, and they say so themselves when it is missing.
set -u

log() { printf '      %s\n' "$*"; }

if command -v dot >/dev/null 2>&1; then
    log "dot is here: $(command -v dot)"
    exit 0
fi

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
    log "installing graphviz with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null >/dev/null 2>&1
    apt-get install -y -qq graphviz </dev/null >/dev/null 2>&1
elif command -v brew >/dev/null 2>&1; then
    log "installing graphviz with Homebrew"
    brew install graphviz </dev/null >/dev/null 2>&1
fi

if command -v dot >/dev/null 2>&1; then
    log "dot is here: $(command -v dot)"
else
    log "no dot: SVG output is off until graphviz is installed (Debian: sudo apt-get install graphviz)"
fi
exit 0

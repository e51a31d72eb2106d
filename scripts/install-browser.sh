#!/usr/bin/env bash
# Makes a Chromium available where that needs no question asked. Never fails: only tests/ui needs one,
# and says so itself when none is there.
set -u

log() { printf '      %s\n' "$*"; }

found() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" 2>/dev/null && return 0
    done
    return 1
}

if path=$(found); then
    log "a browser is here: $path"
    exit 0
fi

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
    log "installing chromium with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null >/dev/null 2>&1
    apt-get install -y -qq chromium </dev/null >/dev/null 2>&1
elif command -v brew >/dev/null 2>&1; then
    log "installing chromium with Homebrew"
    brew install --cask chromium </dev/null >/dev/null 2>&1
fi

if path=$(found); then
    log "a browser is here: $path"
else
    log "no browser: tests/ui will fail until Chromium is installed (Debian: sudo apt-get install chromium)"
fi
exit 0

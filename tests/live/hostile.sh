#!/bin/bash
# Strangers and liars at the server's door and inside: each is refused in words, the next one is served.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

start_serve --memory 1M --listen "$ADDR:7319" --verbose
PORT=7319 $under "$live/helpers/stranger"
stop_serve

#!/bin/sh
# GnuPG: a key made by the agent's threads, signatures made at the same time, all verified.
set -eu
export GNUPGHOME="$DIR/keys"
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key 'Test <test@example.com>' ed25519 sign never 2>"$DIR/log"
jobs=
for i in 1 2 3 4; do
    echo "text $i" >"$DIR/$i"
    gpg --batch --quiet --yes --detach-sign "$DIR/$i" 2>>"$DIR/log" &
    jobs="$jobs $!"
done
for job in $jobs; do wait "$job"; done
for i in 1 2 3 4; do
    gpg --batch --quiet --verify "$DIR/$i.sig" "$DIR/$i" 2>>"$DIR/log"
    echo "good $i"
done
gpgconf --kill all

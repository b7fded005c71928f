#!/bin/sh
# Lays what packages have below a folder, as it is later below /: lay.sh BUILT LAID LIBDIR NAMES [WORDS…]. BUILT has the
# tool and the C library, LIBDIR is that of the libraries, below /usr; NAMES are those of the packages of the tool, the
# preload library, the C library and its headers. The words run the tool of another architecture.
set -eu
built=$1 laid=$2 libdir=$3 names=$4
shift 4
usr=$laid/usr
cargo xtask install-c --prefix /usr --destdir "$laid" --libdir "$libdir" --built "$built"
install -D "$built/turnwise" "$usr/bin/turnwise"
"$@" "$usr/bin/turnwise" library --to "$usr/$libdir" >/dev/null
mkdir -p "$usr/share/man/man1"
"$@" "$usr/bin/turnwise" man "$usr/share/man/man1" >/dev/null
for completions in bash:bash-completion/completions/turnwise zsh:zsh/vendor-completions/_turnwise \
    fish:fish/vendor_completions.d/turnwise.fish; do
    mkdir -p "$(dirname "$usr/share/${completions#*:}")"
    "$@" "$usr/bin/turnwise" completions "${completions%%:*}" >"$usr/share/${completions#*:}"
done
set -- cli preload capi capi
for name in $names; do
    mkdir -p "$usr/share/doc/$name"
    cargo xtask notices "turnwise-$1" >"$usr/share/doc/$name/third-party"
    shift
done

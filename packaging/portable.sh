#!/bin/sh
# Builds packages for old C libraries, or for musl, in target/dist/build: portable.sh TARGET CARGO'S ARGUMENTS…
#
# Programs need the newest versions of the symbols of the C library that they are linked with. These are linked with
# stubs of glibc 2.28 instead, which the Zig compiler makes of its lists of symbols; everything else comes from this
# machine's compiler. (`cargo zigbuild` links all by Zig, which takes neither the lld of the toolchain nor the version
# scripts of the libraries that are loaded into programs.)
set -eu
target=$1 arch=${1%%-*} here=$PWD/target/dist
shift
stubs=$here/glibc-2.28-$arch
compiler=cc
[ "$arch" = "$(uname -m)" ] || compiler=$arch-linux-gnu-gcc
if [ ! -e "$stubs/cc" ]; then
    python3 -m venv "$here/python" || { echo "python3 makes no environment: apt-get install python3-venv"; exit 77; }
    "$here/python/bin/pip" install --quiet --disable-pip-version-check -r packaging/requirements.txt ||
        { echo "the Python registry does not give what packaging/requirements.txt names"; exit 77; }
    mkdir -p "$here/zig" "$stubs"
    echo 'int main(void) { return 0; }' >"$here/zig/main.c"
    export ZIG_GLOBAL_CACHE_DIR="$here/zig/cache" ZIG_LOCAL_CACHE_DIR="$here/zig/cache"
    link=$(cd "$here/zig" && ../python/bin/python3 -m ziglang \
        build-exe main.c --verbose-link -lc -lm -lpthread -ldl -lrt -lutil -target "$arch-linux-gnu.2.28" 2>&1 |
        grep '^ld.lld' | tail -n 1)
    count=0
    for file in $link; do
        case $file in
        */ld-*) continue ;;
        /*/Scrt1.o | /*/crti.o | /*/crtn.o | /*/libc_nonshared.a | /*/lib*.so.*) cp "$file" "$stubs" ;;
        *) continue ;;
        esac
        count=$((count + 1)) name=${file##*/}
        case $name in
        libc.so.* | libld.so.* | *.o | *.a) ;;
        *) ln -sf "$name" "$stubs/${name%%.so.*}.so" ;;
        esac
    done
    [ "$count" -ge 10 ] || { echo "Zig links fewer files than expected: $link"; exit 1; }
    echo "GROUP ( $stubs/libc.so.6 $stubs/libc_nonshared.a AS_NEEDED ( $stubs/libld.so.2 ) )" >"$stubs/libc.so"
    # This machine's static unwinder may need a function of glibc 2.35, the shared one of old machines does not. This
    # machine's libgcc_s may need later symbols, too, but it is not what runs there.
    cat >"$stubs/cc.new" <<END
#!/bin/sh
case "\$*" in *-print-file-name=libgcc_eh.a*) echo libgcc_eh.a; exit ;; esac
exec $compiler '-B$stubs' '-L$stubs' -Wl,--allow-shlib-undefined "\$@"
END
    chmod +x "$stubs/cc.new"
    mv "$stubs/cc.new" "$stubs/cc" # last: it marks the rest as complete
fi
glibc=$(echo "$arch" | tr a-z A-Z)_UNKNOWN_LINUX_GNU
env "CARGO_TARGET_${glibc}_LINKER=$stubs/cc" "CARGO_TARGET_${glibc}_RUSTFLAGS=-Cstrip=symbols" \
    "CC_${arch}_unknown_linux_gnu=$stubs/cc" CARGO_INCREMENTAL=0 \
    cargo build --quiet --profile dist --locked --target-dir target/dist/build --target "$target" "$@"

#!/bin/sh
# Leaves one mechanism of waiting out, against the policy that ships: ablate.sh NAME=VALUE [argument of perf …]
# Needs `cargo build --release -p turnwise-cli -p turnwise-lab`. Run it from the repository's root.
set -eu
setting=$1
shift
release=$PWD/target/release
without=$PWD/target/ablate/$setting
mkdir -p "$without"
# perf takes the laboratory that lies beside the program; a link would lead it to the other one.
cp "$release/turnwise" "$without/turnwise"
cat > "$without/turnwise-lab" <<SCRIPT
#!/bin/sh
if [ "\$1" = bench ] && [ "\$2" != --list ]; then exec "$release/turnwise-lab" "\$@" --set $setting; fi
exec "$release/turnwise-lab" "\$@"
SCRIPT
chmod +x "$without/turnwise-lab"
cargo xtask perf --old-program "$release/turnwise" --new-program "$without/turnwise" "$@"

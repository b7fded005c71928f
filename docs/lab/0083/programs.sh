cd .
S="Kyoto-cache,"
run() { cargo xtask ablate --only "$@" --rounds 12 --json figures/mech.json --programs "Kyoto cache" "prototype, mixed" "hash file" "Tokyo hash" "Tokyo B+" "stress-ng mutex" "sysbench" "SQLite, shared" "LevelDB mixed" "RocksDB cache" "one lock" --cells $(cat figures/cells) >> figures/mech.log 2>&1; }
for v in off=2048 off=16; do run $v; done

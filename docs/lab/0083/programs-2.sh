cd .
run() { cargo xtask ablate --only "$@" --rounds 12 --json figures/abl/mech3.json --programs "Kyoto cache" "prototype, mixed" "hash file" "Tokyo hash" "Tokyo B+" "stress-ng mutex" "sysbench" "SQLite, shared" "LevelDB mixed" "RocksDB cache" "one lock" --cells $(cat figures/abl/cells) >> figures/abl/mech3.log 2>&1; }
for v in "$@"; do ( flock 9; run $v ) 9>figures/lock; date >> figures/abl/mech3.log; sleep 3; done

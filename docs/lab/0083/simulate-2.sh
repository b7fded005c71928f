cd .; L=target/dist/turnwise-lab; O=figures/abl/sim3; mkdir -p $O
until [ $L -nt figures/marker ]; do sleep 2; done; sleep 5
exec 9>figures/lock; flock 9
one() { m=$1; w=$2; s=$3; off=$4
 timeout 60 $L sim --machine ${m%%:*} --lock mutex --workload $w --cpus ${m##*:} --duration 10ms --seed $s --set off=$off --json $O/${m%%:*}_${w/\//-}_${s}_$off.json >/dev/null 2>&1; }
export -f one; export L O
for m in westmere-ex-80:16,48,80 epyc-milan-2s:16,64,192 sapphire-rapids-2s:56,224; do
 for w in 50/100 tight 1000/1000; do for s in 1 2 3 4 5; do for off in 0 1 8197 8199 8196 2048; do echo "$m $w $s $off"; done; done; done; done | xargs -P2 -L1 bash -c 'one "$@"' _
date > $O/done

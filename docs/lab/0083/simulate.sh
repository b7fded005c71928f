cd .; L=target/dist/turnwise-lab
for m in westmere-ex-80:16,48,80 epyc-milan-2s:16,64,192 sapphire-rapids-2s:56,224; do
 for w in 50/100 tight 1000/1000; do
  for s in 1 2 3 4 5; do for off in 0 4 8192 8196 2 8 16 2048 1; do
   timeout 60 $L sim --machine ${m%%:*} --lock mutex --workload $w --cpus ${m##*:} --duration 10ms --seed $s --set off=$off --json figures/sim/${m%%:*}_${w/\//-}_${s}_$off.json >/dev/null 2>&1
  done; done; done; done

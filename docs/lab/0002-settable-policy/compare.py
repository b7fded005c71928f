import subprocess,statistics as st
import sys
libs = sys.argv[1:]  # preload libraries; the first is what the others are compared with
for t in (2,4,8,32):
    r={l:[] for l in libs}
    for k in range(24):
        for j in range(len(libs)):
            l=libs[(j+k)%len(libs)]
            r[l].append(int(subprocess.run(['./contend',str(t)],env={'LD_PRELOAD':l},capture_output=True,text=True).stdout))
    print(t,[f"{st.median(a/b for a,b in zip(r[l],r[libs[0]])):.3f}" for l in libs], st.median(r[libs[0]]))

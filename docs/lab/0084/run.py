import subprocess,random,re,os,time,json
T='target/perf/tree'
S=['0','100000','1400000']

random.seed(1)
out=open('figures.jsonl','w')
def cell():
    for s in random.sample(S,3):
        r=subprocess.run(['./slice',s,T+'/turnwise-lab','bench','mutex','--lock','mutex','std','--scenario','8x50/100','64x50/100','--samples','2','--sample-ms','300'],capture_output=True,text=True).stdout
        cur=None
        for l in r.splitlines():
            m=re.match(r'^(8|64)x50/100:',l)
            if m: cur=m.group(1)
            m=re.match(r'^ (mutex|std) +([\d.]+) ns +([\d.]+) ns +([\d.]+) +.* ([\d.]+) (us|ms|s) +[\d.e-]+ +[\d.e-]+ ',l)
            if m and cur:
                w=float(m.group(5))*{'us':1e-3,'ms':1,'s':1e3}[m.group(6)]
                out.write(json.dumps(['cell',cur,m.group(1),s,float(m.group(2)),float(m.group(4)),w])+'\n')
P=[['sysbench','threads','--threads=8','--thread-yields=100','--thread-locks=4','--time=1','run'],['kccachetest','order','-th','8','-rnd','100000'],['tchmttest','typical','8','100000']]
def prog():
    for p in P:
        for s in random.sample(S,3):
            for w in random.sample([[],[T+'/turnwise','run','--']],2):
                b=time.time(); r=subprocess.run(['./slice',s]+w+p,capture_output=True,text=True).stdout; e=time.time()-b
                m=re.search(r'total number of events: *(\d+)',r)
                v=int(m.group(1)) if m else 1/e
                out.write(json.dumps(['prog',p[0],'turnwise' if w else 'libc',s,v])+'\n')
end=time.time()+330
while time.time()<end:
    cell(); prog(); out.flush()

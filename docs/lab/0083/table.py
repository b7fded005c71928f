import json,glob,re,statistics as st,math,sys,os
d=sys.argv[1]; base=sys.argv[2] if len(sys.argv)>2 else '0'
R={}
for f in glob.glob(d+'/*.json'):
    m=re.match(r'(.*)_([^_]+)_(\d+)_(\w+)\.json',os.path.basename(f))
    try: j=json.load(open(f))
    except Exception: continue
    for c in j['cells']:
        r=c['result'].get('Ok')
        if not r: continue
        R.setdefault((m[1],m[2],c['cpus']),{}).setdefault(m[4],{})[m[3]]=r
k0=next(iter(R.values()))[base]['1']
print([k for k in k0 if not isinstance(k0[k],(dict,list))],file=sys.stderr)
vs=sorted({v for x in R.values() for v in x if v!=base},key=lambda v:(len(v),v))
print('%-34s'%'cell',*('%15s'%v for v in vs))
g={v:[] for v in vs}
def fair(r): return r.get('fairness') or r.get('fair') or 0
def mx(r): return max([v for k,v in r.items() if 'max' in k and isinstance(v,(int,float))] or [0])
for k in sorted(R):
    row=R[k]; b=row.get(base,{})
    if not b: continue
    F=lambda v: st.median(fair(r) for r in row[v].values())
    line='%-28s f%.2f '%(' '.join(map(str,k)),F(base))
    for v in vs:
        if v not in row: line+=' '*16; continue
        q=st.median(row[v][s]['ops']/b[s]['ops'] for s in row[v] if s in b)
        g[v].append(q); line+='  %6.3f f%.2f'%(q,F(v))+'  '
    print(line)
print('%-34s'%'geomean',*('%15.3f'%math.exp(st.mean(map(math.log,g[v]))) for v in vs if g[v]))

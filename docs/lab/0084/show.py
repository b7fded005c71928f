import json,statistics as st,math
rows=[json.loads(l) for l in open('figures.jsonl')]
d={}
for r in rows:
    if r[0]=='cell': d.setdefault(('cell',r[1],r[2]),{}).setdefault(r[3],[]).append((r[4],r[5],r[6]))
    else: d.setdefault(('prog',r[1],r[2]),{}).setdefault(r[3],[]).append(r[4])
for k,v in d.items():
    if k[0]=='cell':
        print(k,{s:('ns %.0f fair %.2f longest %.1f (%.1f..%.1f) n %d'%(st.median(a for a,_,_ in x),st.median(b for _,b,_ in x),st.median(c for *_,c in x),sorted(c for *_,c in x)[len(x)//4],sorted(c for *_,c in x)[3*len(x)//4],len(x))) for s,x in sorted(v.items())})
    else:
        base=v['0']
        print(k,{s:'%.3f'%st.median([a/b for a,b in zip(x,base)]) for s,x in sorted(v.items())}, len(base))

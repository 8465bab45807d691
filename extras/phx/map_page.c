/* map_page.c - the page of phx map: one file, nothing from outside. */
#include "map.h"

/* Lines, since C99 promises no more than 4,095 characters of a string. */
static const char *const page_head[] = {
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Phoenix</title>",
    "<meta name=\"viewport\" content=\"width=device-width\"><style>",
    ":root{color-scheme:light dark;--ink:#123;--soft:#8aa;--page:#fff;--line:#ccd}",
    "@media(prefers-color-scheme:dark){:root{--ink:#dee;--soft:#899;--page:#111820;--line:#334}}",
    "body{margin:0;font:14px system-ui,sans-serif;color:var(--ink);background:var(--page);display:flex;",
    "height:100vh}svg{flex:1;min-width:0}aside{width:25em;overflow:auto;padding:0 1em;border-left:1px solid "
    "var(--line)}",
    "h1{font-size:1.1em}table{border-collapse:collapse;width:100%}td{padding:.15em .4em .15em "
    "0;vertical-align:top}",
    "tr{border-top:1px solid "
    "var(--line)}.ok{color:#2a7}.suspect{color:#e90}.unreachable{color:#a4c}.failed{color:#d33}",
    ".left{color:var(--soft)}circle.ok{fill:#2a7}circle.suspect{fill:#e90}circle.unreachable{fill:#a4c}",
    "circle.failed{fill:#d33}line{stroke:var(--line)}line.own{stroke:#48c;stroke-width:2}",
    "line.via{stroke:#e90;stroke-dasharray:4 3}text{fill:var(--ink);font-size:12px;text-anchor:middle;",
    "paint-order:stroke;stroke:var(--page);stroke-width:3px}td:first-child{white-space:nowrap}",
    "#stale{color:#d33}</style></head><body><svg id=\"s\"></svg><aside><h1>Phoenix <span "
    "id=\"n\"></span></h1>",
    "<p id=\"stale\"></p><table id=\"t\"></table><h1>Lately</h1><table id=\"e\"></table>",
    "<p class=\"left\">Blue: links of the node that looks. Gray: what its neighbours say. Dashed: "
    "relayed.</p></aside>",
    "<script>\"use strict\";const first=",
};

static const char *const page_tail[] = {
    ";const at=new Map(),svg=document.getElementById('s'),NS='http://www.w3.org/2000/svg';",
    "function el(n,a,t){const e=document.createElementNS(NS,n);for(const k in a)e.setAttribute(k,a[k]);",
    "if(t!==undefined)e.textContent=t;return e}",
    "function row(c){const r=document.createElement('tr');for(const[t,k]of c){const "
    "d=document.createElement('td');",
    "d.textContent=t;if(k)d.className=k;r.append(d)}return r}",
    "function ago(ms){return ms<1e3?ms+' ms':ms<12e4?Math.round(ms/1e3)+' s':Math.round(ms/6e4)+' min'}",
    "function layout(d){const n=d.nodes;n.forEach((v,i)=>{let p=at.get(v.id);if(!p){const a=i*2.4,",
    "r=Math.sqrt(i+1);p={x:r*Math.cos(a),y:r*Math.sin(a)};at.set(v.id,p);hot=150}v.p=p});",
    "for(;hot>0;hot--){for(const v of n){v.p.dx=-v.p.x;v.p.dy=-v.p.y}for(let i=0;i<n.length;i++)",
    "for(let j=i+1;j<n.length;j++){const a=n[i].p,b=n[j].p,x=a.x-b.x,y=a.y-b.y,q=1/(x*x+y*y+.01);",
    "a.dx+=x*q;a.dy+=y*q;b.dx-=x*q;b.dy-=y*q}for(const[i,j]of d.links){const a=n[i].p,b=n[j].p,",
    "x=a.x-b.x,y=a.y-b.y,q=Math.hypot(x,y);a.dx-=x*q;a.dy-=y*q;b.dx+=x*q;b.dy+=y*q}",
    "for(const{p}of n){const l=Math.hypot(p.dx,p.dy)||1,s=Math.min(l/4,hot/300)/l;p.x+=p.dx*s;p.y+=p.dy*s}}}",
    "function fit(d,w,h){const xs=d.nodes.map(v=>v.p.x),ys=d.nodes.map(v=>v.p.y),x=Math.min(...xs),",
    "y=Math.min(...ys),W=Math.max(...xs)-x||1,H=Math.max(...ys)-y||1,s=Math.min((w-160)/W,(h-120)/H);",
    "for(const v of d.nodes)v.p={x:w/2+(v.p.x-x-W/2)*s,y:h/2-10+(v.p.y-y-H/2)*s}}let hot=0;",
    "function draw(d){const w=svg.clientWidth||800,h=svg.clientHeight||600;layout(d);fit(d,w,h);",
    "svg.replaceChildren();",
    "const by=new Map(d.nodes.map(v=>[v.id,v]));for(const[i,j,own]of "
    "d.links)svg.append(line(d.nodes[i],d.nodes[j],",
    "own?'own':''));for(const v of d.nodes)if(v.via&&by.has(v.via))svg.append(line(v,by.get(v.via),'via'));",
    "for(const v of d.nodes){const c=el('circle',{cx:v.p.x,cy:v.p.y,r:v.id===d.self?11:8,class:v.state});",
    "c.append(el('title',{},v.label+': '+v.state+(v.reason?', '+v.reason:'')));svg.append(c,",
    "el('text',{x:v.p.x,y:v.p.y+24},v.label))}document.getElementById('n').textContent=d.nodes.length+' "
    "nodes, '+",
    "d.links.length+' links seen';const name=id=>by.has(id)?by.get(id).label:id.slice(0,8);",
    "document.getElementById('t').replaceChildren(...d.nodes.map(v=>row([[v.label],[v.state,v.state],[v.hops<"
    "0?'down '+",
    "ago(v.since_ms)+(v.reason?': '+v.reason:''):v.via?v.hops+' hops, by "
    "'+name(v.via):v.hops?'linked':'looks']])));",
    "document.getElementById('e').replaceChildren(...d.events.map(e=>row([[ago(e.ago_ms)+' ago'],[e.label],",
    "[e.state+(e.reason?': '+e.reason:''),e.state]])))}",
    "function line(a,b,k){return el('line',{x1:a.p.x,y1:a.p.y,x2:b.p.x,y2:b.p.y,class:k})}",
    "draw(first);if(location.protocol.startsWith('http'))setInterval(async()=>{const "
    "s=document.getElementById('stale');",
    "try{const r=await fetch('map.json');draw(await r.json());s.textContent=''}catch(e){",
    "s.textContent='no answer from phx map: this is what it was'}},2000);",
    "</script></body></html>",
};

void map_page(struct tool *t, const struct map *m, FILE *to)
{
    size_t i;

    for (i = 0; i < sizeof page_head / sizeof *page_head; i++)
        (void)fputs(page_head[i], to);
    map_json(t, m, to);
    for (i = 0; i < sizeof page_tail / sizeof *page_tail; i++)
        (void)fprintf(to, "%s\n", page_tail[i]);
}

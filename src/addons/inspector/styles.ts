/**
 * The inspector's looks: one type scale, a spacing step of 4 px, and colour only where it says
 * something; each kind has a pattern, too.
 */
export const STYLES = `
:host{display:block;container-type:inline-size;min-inline-size:0}
[hidden]{display:none !important}
.inspector{all:initial;display:block;--paper:light-dark(white,#16191a);--sunken:light-dark(#eef1f1,\
#1f2324);--rule:light-dark(#dfe4e4,#2f3536);--ink:light-dark(#14191a,#eceff0);\
--soft:light-dark(#535d5e,#a7b0b1);--accent:light-dark(#0b6e69,#52bfb6);--tint:light-dark(#bfe3df,\
#1f4f4b);--used:light-dark(#4a5556,#98a3a4);--wait:light-dark(#8a5300,#e5ae58);\
--bad:light-dark(#b3261e,#f08d84);--mono:ui-monospace,Menlo,Consolas,monospace;padding:16px;\
border:1px solid var(--rule);border-radius:10px;background:var(--paper);color:var(--ink);\
font:14px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
*{box-sizing:border-box;margin:0;padding:0}
h2{font-size:16px}
h3{font-size:14px}
.scale,.detail,.chip,.legend,.log,dt,.hint{font-size:12px}
ul,ol{list-style:none}
.row,dl,dl div,.actions,.meter,.zoom,.under,.legend,.legend li{display:flex;flex-wrap:wrap;\
align-items:center;gap:8px}
dl{gap:4px 20px;margin-block:8px 12px}
dl div{align-items:baseline}
dt,.detail,.scale,.hint,.reason,time{color:var(--soft)}
button,input,textarea{min-block-size:32px;padding:4px 12px;border:1px solid var(--soft);\
border-radius:6px;background:none;color:inherit;font:inherit;white-space:nowrap}
button{cursor:pointer}
button:not(.piece):hover{background:var(--sunken)}
button[aria-disabled=true]{color:var(--soft);border-color:var(--rule);cursor:default}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
input{inline-size:88px}
input,.meter,.detail,.scale,.log{font-variant-numeric:tabular-nums}
.problem{margin-block-start:12px;padding:12px;border-inline-start:3px solid var(--bad);\
background:var(--sunken)}
.problem button{margin-block-start:8px}
.collection{margin-block-start:16px;padding-block-start:16px;\
border-block-start:1px solid var(--rule)}
.row{justify-content:space-between}
.chip{padding:2px 8px;border:1px solid;border-radius:12px}
.ready{color:var(--accent)}
.low,.claiming{color:var(--wait)}
.exhausted,.problem h3,.log .error{color:var(--bad)}
.meter{gap:4px 12px;margin-block:8px 12px}
.meter [role]{flex:1 0 240px;block-size:8px;border-radius:4px;background:var(--sunken);\
overflow:hidden}
.meter i{display:block;block-size:100%;background:currentColor}
.track{position:relative;border-radius:6px;background:var(--sunken);overflow:hidden;\
touch-action:pan-y}
.piece{position:absolute;min-inline-size:3px;margin-block:2px;padding:0;border:0;border-radius:0;\
box-shadow:inset -1px 0 var(--paper)}
.piece:focus-visible{outline:3px solid var(--ink);outline-offset:-3px;\
box-shadow:inset 0 0 0 5px var(--paper);z-index:1}
.granted{background:linear-gradient(var(--tint) 80%,var(--accent) 80%)}
.leased-here{background:var(--accent)}
.leased{background:repeating-linear-gradient(135deg,var(--accent) 0 4px,var(--tint) 4px 8px)}
.issued{background:var(--used)}
.offered{background:radial-gradient(circle,var(--wait) 28%,var(--paper) 32%) 0 0 / 8px 8px}
.given-back{background:repeating-linear-gradient(90deg,var(--used) 0 2px,var(--paper) 2px 6px)}
.gap{background:repeating-linear-gradient(45deg,var(--bad) 0 2px,#0000 2px 6px),\
repeating-linear-gradient(135deg,var(--bad) 0 2px,var(--paper) 2px 6px)}
.piece,.swatch{forced-color-adjust:none}
.scale{position:relative;block-size:24px;overflow:hidden}
.scale span{position:absolute;padding-block-start:4px;translate:-50%;\
background:linear-gradient(var(--soft),var(--soft)) top / 1px 4px no-repeat}
.under,.zoom,.legend li{flex-wrap:nowrap}
.under{align-items:start;justify-content:space-between}
.detail{min-block-size:36px}
.zoom{gap:4px}
.zoom button{min-inline-size:32px;padding:0 8px}
.legend{gap:6px 20px;margin-block-end:8px}
.swatch{flex:none;inline-size:24px;block-size:16px}
.log{max-block-size:280px;margin-block-start:8px;overflow:auto}
.log li{display:grid;grid-template-columns:24px 64px 72px 1fr 3fr;gap:0 12px;padding-block:4px;\
border-block-end:1px solid var(--rule)}
time,.numbers{font-family:var(--mono)}
textarea{inline-size:100%;min-block-size:120px;font:12px var(--mono)}
.unseen{position:absolute;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%)}
@media (pointer:coarse){
button:not(.piece),input{min-block-size:44px}
.zoom button{min-inline-size:44px}
}
@container (max-width:640px){
button{padding-inline:8px}
.log li{grid-template-columns:24px 64px 1fr}
.numbers,.reason{grid-column:2 / -1}
}
`

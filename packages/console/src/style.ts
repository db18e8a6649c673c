import { staticFile } from './static-file.ts'

/** The only style. Every length is a multiple of the step, and every text has one of four sizes. */
export const STYLE = staticFile(
  'style',
  'css',
  `:root{color-scheme:light dark;--ground:light-dark(#f4f6f8,#0b1015);--surface:light-dark(#fff,#12181f);--ink:light-dark(#15202b,#e9eef3);--muted:light-dark(#51606f,#a8b4c1);--line:light-dark(#d8dee6,#37424e);--edge:light-dark(#76838f,#6f7c89);--accent:light-dark(#0b57d0,#8ab4f8);--on-accent:light-dark(#fff,#0c1a30);--good:light-dark(#11692f,#81c995);--bad:light-dark(#b3261e,#f2a7a0);--s:.875rem;font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);overflow-wrap:anywhere}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:4px}
main:focus{outline:0}
.skip{position:absolute;inset-inline-start:-99rem}
.skip:focus{inset-inline-start:1rem;top:.5rem;padding:.5rem;background:var(--surface);z-index:1}
header{display:flex;flex-wrap:wrap;gap:.25rem 1rem;align-items:center;justify-content:space-between;padding:.5rem 1.5rem;background:var(--surface);border-block-end:1px solid var(--line);font-size:var(--s)}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem;margin:0;padding:0;list-style:none}
nav a{display:block;padding:.5rem .75rem;border-radius:.5rem;color:var(--ink);text-decoration:none}
nav a:hover{background:var(--ground)}
nav a[aria-current]{background:var(--ground);color:var(--accent);font-weight:600}
.who,.ago,.none,.hint,dt{color:var(--muted)}
main{max-width:72rem;margin:0 auto;padding:1.5rem}
h1{margin:0 0 1rem;font-size:1.5rem;line-height:1.25}
h2{margin:2rem 0 .75rem;font-size:1.125rem;line-height:1.25}
p{margin:0 0 .75rem;max-width:44rem}
.hint,.ago{font-size:var(--s)}
.who{margin-inline-end:.5rem}
.ago{white-space:nowrap}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:1rem}
.card,dl,.table,.timeline,.empty,pre{background:var(--surface);border:1px solid var(--line);border-radius:.75rem}
.card{padding:1.25rem}
.card h2{margin:0 0 .5rem}
.card>:last-child{margin-block-end:0}
form.filters,form.ask{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end;margin:0 0 1rem}
label{display:grid;gap:.375rem;font-size:var(--s);color:var(--muted);flex:0 1 auto}
label.wide{flex:1 1 16rem}
input,select,button,.button{font:inherit;min-height:2.75rem;padding:.5rem .75rem;border:1px solid var(--edge);border-radius:.5rem;background:var(--surface);color:var(--ink);max-width:100%}
label.wide input{width:100%}
label.check{display:flex;align-items:center;gap:.5rem;min-height:2.75rem}
[type=checkbox]{min-height:0;width:1.25rem;height:1.25rem;accent-color:var(--accent)}
button,.button{display:inline-flex;align-items:center;background:var(--accent);border-color:transparent;color:var(--on-accent);font-weight:600;text-decoration:none;cursor:pointer}
button.quiet,.button.quiet{background:none;border-color:var(--edge);color:var(--ink);font-weight:400}
button.stop,.button.stop{background:var(--bad);color:var(--surface)}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1px;margin:0 0 1rem;overflow:hidden}
dl>div{padding:.625rem 1rem;box-shadow:0 0 0 1px var(--line)}
dt{font-size:var(--s)}
dd{margin:0}
.id{display:inline-block;max-width:100%;user-select:all;word-break:break-all;font-size:var(--s)}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:var(--s)}
details{margin:0 0 1rem}
summary{cursor:pointer;min-height:2.75rem;padding:.5rem 0}
td summary{min-height:0;padding:0}
pre{padding:1rem;margin:0 0 1rem;overflow-x:auto;white-space:pre-wrap}
.open{font-size:var(--s)}
.nowrap{white-space:nowrap}
.empty{padding:1.25rem;color:var(--muted);max-width:none}
.table{overflow-x:auto;margin:0 0 1rem}
table{width:100%;border-collapse:collapse}
th,td{padding:.625rem .875rem;text-align:start;vertical-align:top;border-block-end:1px solid var(--line)}
tbody tr:last-child td{border:0}
td{overflow-wrap:break-word}
td bdi{overflow-wrap:anywhere}
td .name{display:inline-block;min-width:9rem}
td p{margin:0}
th{overflow-wrap:normal;font-size:var(--s);font-weight:600;color:var(--muted);white-space:nowrap}
.badge{display:inline-block;white-space:nowrap;padding:0 .5rem;border:1px solid currentColor;border-radius:1rem;font-size:var(--s);font-weight:600}
.good{color:var(--good)}
.bad{color:var(--bad)}
.timeline{list-style:none;margin:0 0 1rem;padding:0}
.timeline>li{display:grid;grid-template-columns:14rem 12rem minmax(0,1fr);gap:.25rem 1rem;padding:.75rem 1rem;border-block-end:1px solid var(--line)}
.timeline>li:last-child{border:0}
.lanes{display:grid;grid-template-columns:repeat(3,1fr);align-self:start;text-align:center;font-size:.75rem;color:var(--muted)}
.lanes b{display:block;print-color-adjust:exact;height:.75rem;margin:.25rem auto;width:.75rem;border-radius:50%;background:var(--line)}
.lanes .on{color:var(--ink);font-weight:600}
.lanes .on b{background:var(--accent)}
.refused .lanes .on b{background:var(--bad)}
.timeline p{margin:.25rem 0 0}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,9.5rem),1fr));gap:1rem;margin:0 0 1rem}
.chart{margin:0;padding:.75rem 1rem;background:var(--surface);border:1px solid var(--line);border-radius:.75rem;min-width:0}
.chart.large{margin:0 0 .5rem}
figcaption{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 .5rem;font-size:var(--s);color:var(--muted)}
figcaption b{font-size:1.125rem;line-height:1.25;color:var(--ink)}
.chart svg{display:block;width:100%;height:3rem;margin:.5rem 0 .25rem}
.large svg{height:8rem}
.share{display:block;width:100%;min-width:4rem;max-width:12rem;height:.5rem}
svg .plain{fill:var(--accent)}
svg .good{fill:var(--good)}
svg .bad{fill:var(--bad)}
.line{stroke:var(--edge);fill:none;vector-effect:non-scaling-stroke}
.axis{display:flex;justify-content:space-between;gap:.5rem;max-width:none;margin:0;direction:ltr;font-size:.75rem;color:var(--muted)}
.dense th,.dense td{padding:.375rem .5rem;white-space:normal}
.dense :is(th,td):not(:first-child){text-align:end}
.choice{display:flex;flex-wrap:wrap;gap:.5rem;margin:0 0 1rem;padding:0;list-style:none}
.choice [aria-current]{border-color:var(--accent);color:var(--accent);font-weight:600}
.pages{display:flex;gap:.75rem}
.row{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center}
td .row{flex-wrap:nowrap;white-space:nowrap}
@media (max-width:56rem){header{padding:.5rem 1rem}main{padding:1rem}.timeline>li{grid-template-columns:minmax(0,1fr)}form.filters label{flex:1 1 12rem}form.filters :is(input:not([type=checkbox]),select){width:100%}.lanes{max-width:14rem;width:100%}.table{border:0;background:none}thead{display:none}table,tbody,tr,td{display:block}tr{padding:.5rem 0;margin-block-end:.75rem;background:var(--surface);border:1px solid var(--line);border-radius:.75rem}td{border:0;padding:.25rem 1rem}td:empty{display:none}td::before{content:attr(data-heading);display:block;font-size:var(--s);color:var(--muted)}.dense tr{display:grid;grid-template-columns:1fr 1fr;padding:.5rem}.dense td:not(:first-child){display:flex;justify-content:space-between;gap:.5rem;padding:0 .5rem}.dense td:first-child{grid-column:1/-1;padding:0 .5rem;font-weight:600}}
@media print{:root{color-scheme:light}header,form.filters,form.ask,.skip,.open,.button{display:none}.dense table{font-size:.75rem}.dense :is(th,td){padding:.25rem;font-size:.75rem}body{background:#fff}main{max-width:none;padding:0}.card,.chart,dl,.table,.timeline,pre{border-radius:0}.timeline>li,tr,.chart{break-inside:avoid}}
@media (forced-colors:active){button,.button,button.stop{background:ButtonFace;border-color:ButtonText;color:ButtonText}.lanes .on b,.refused .lanes .on b{background:Highlight}dl>div{outline:1px solid}.badge{border:1px solid}svg .plain,svg .good{fill:CanvasText}svg .bad{fill:Canvas;stroke:CanvasText}svg .bad rect{vector-effect:non-scaling-stroke}.line{stroke:CanvasText}.choice [aria-current]{border-color:Highlight;border-width:2px}}
`,
)

/**
 * The parts of the card. Sizes are in em from the reader's default size (`font: medium`), so that
 * text zoom works and the page's root size has no effect.
 */
export const PARTS = `
*{box-sizing:border-box}
[hidden]{display:none!important}
h2,h3,p,dl,dd{margin:0;font:inherit}
.brand{display:flex;gap:.5em;align-items:center;min-height:1.5em;overflow:clip;font-size:.875em;
  color:var(--muted)}
.logo:not([data-loaded]),.logo:not([data-loaded])+bdi{visibility:hidden}
.logo{height:1.5em;max-width:6em;object-fit:contain}
bdi{overflow-wrap:anywhere}
.title,.rest i::before{display:block;font-size:var(--title,1.1875em);font-weight:650;
  line-height:1.25}
.body,.rest i::after{display:block;margin-top:var(--space,.25em);font-size:var(--body,.9375em);
  color:var(--muted);text-wrap:pretty}
.rest i::after{display:var(--rest,block)}
.rest i{font-style:normal}
.same,.or,.note,.lack,.foot{font-size:.875em;color:var(--muted)}
.same{text-align:start}
.pairs{display:grid;grid-template-columns:fit-content(50%) minmax(0,1fr);gap:0 .75em}
.pairs div{display:grid;grid-template-columns:subgrid;grid-column:1/-1;border-top:1px solid var(--line)}
@supports not (grid-template-columns:subgrid){.pairs div{display:contents}}
[dir=rtl] :is(dt,dd){text-align:right}
dt,dd{overflow:clip;text-align:left;white-space:pre-wrap;overflow-wrap:anywhere}
dd{font-weight:600;color:var(--ink)}
.button{display:block;width:100%;padding:.7em 1em;border:0;border-radius:calc(var(--round)*.7);
  background:var(--link);color:var(--surface);font:inherit;font-weight:600;text-align:center;
  text-decoration:none;cursor:pointer}
.button:hover{box-shadow:0 0 0 3px var(--tint)}
.plain{border:1px solid var(--line);background:none;color:var(--link)}
.or{margin-top:1em}
.qr{display:block;background:#fff;forced-color-adjust:none}
.badge{display:grid;place-items:center;width:5.5em;height:5.5em;border-radius:50%;
  background:var(--tint);color:var(--tone)}
.badge svg{width:50%}
:is(.badge,.here) svg{fill:none;stroke:currentColor;stroke-width:1.75;stroke-linecap:round;
  stroke-linejoin:round}
.here{display:flex;flex-direction:column;gap:.4em;align-items:center;justify-content:center;
  max-height:100%;overflow-wrap:anywhere}
[data-screen^=browser] :is(.same p,.rest),[data-layout=compact]:is([data-screen=browser_again],[data-screen=browser_frame]) .same{display:none}
iframe{width:100%;height:100cqh;border:0;color-scheme:inherit}
[data-breached=true] :is(.qr path+path,iframe){visibility:hidden}
.here svg{flex:none;width:2em}
.here[aria-disabled]{background:var(--tint);color:var(--tone);cursor:default}
.foot{display:flex;gap:16px;align-items:center;white-space:nowrap;
  font-variant-numeric:tabular-nums}
[role=timer]{margin-inline-start:auto}
[data-layout=regular]:not(.small) .short,:is(.small,[data-layout=compact]) [role=timer] :first-child{display:none}
.card:not([data-code]) :is(.help-link,.touch){visibility:hidden}
.link{padding:.25em 0;border:0;background:none;color:var(--link);font:inherit;
  text-decoration:underline;text-underline-offset:.2em;cursor:pointer}
@media (pointer:coarse){.foot .link{position:relative}
  .foot .link::after{content:"";position:absolute;inset:-4px -4px -7px}}
.help{width:min(22em,calc(100% - 32px));padding:20px;border:1px solid var(--line);
  border-radius:var(--round);background:var(--surface);color:var(--ink);font-size:.9375em;
  text-align:start}
.help h3{font-weight:650}
.help p{margin-top:-8px;color:var(--muted)}
.help .link{justify-self:start;margin-top:-8px}
.help[open]{display:grid;gap:12px}
.help::backdrop{background:#0006}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:6px}
.card:focus{outline:0}
.card:focus-visible{outline:2px solid var(--link);outline-offset:-2px;border-radius:var(--round)}
.phone{animation:breathe 2.4s ease-in-out infinite}
.spinner svg{animation:turn 1.1s linear infinite}
.check path{stroke-dasharray:24;animation:draw .45s ease-out}
@keyframes turn{to{transform:rotate(1turn)}}
@keyframes breathe{50%{box-shadow:0 0 0 .6em var(--tint)}}
@keyframes draw{from{stroke-dashoffset:24}}
@media (prefers-reduced-motion:reduce){
  .phone,.check path{animation:none}.spinner svg{animation-duration:6s}}
`

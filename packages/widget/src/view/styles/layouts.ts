/**
 * The two layouts. The host has size containment, so the box that the page reserves decides the
 * layout and content moves nothing on the page. `compact` fits the 360 × 168 px of the container
 * contract: the QR code of 152 px has modules of at least 2 px up to version 12. `fit.ts` chooses,
 * and raises `data-fit` until nothing overflows: what the card then leaves out, the phone shows.
 *
 * In the regular layout the picture comes first on a screen without a QR code, and the card keeps
 * its height while the phone is busy.
 */
export const LAYOUTS = `
:host{display:block;container-type:size;contain-intrinsic-size:360px 168px;min-width:0;
  min-height:168px;max-width:360px}
.card{all:initial;--round:calc(var(--radius,14)*1px);box-sizing:border-box;display:flex;flex-direction:column;gap:16px;
  width:100%;max-width:360px;padding:20px;border:1px solid var(--line);
  border-radius:var(--round);background:var(--surface);color:var(--ink);
  font:medium/1.45 var(--font,system-ui,sans-serif);
  text-align:center;overflow-wrap:anywhere;-webkit-text-size-adjust:100%}
.card[data-layout=compact]{display:grid;grid-template-columns:auto 1fr;gap:12px;padding:7px;
  align-items:center;font-size:.875em;line-height:1.3;text-align:start}
[data-layout=regular]:not([data-screen=waiting]){justify-content:center}
[data-layout=regular] .side{display:contents}
[data-layout=regular] .brand{justify-content:center}
[data-layout=regular] :is(.message,.touch){order:1}
[data-layout=regular] .retry{order:2}
[data-layout=regular] .stage{order:3}
[data-layout=regular] .same{order:4}
[data-layout=regular] .foot{order:5;margin:auto -20px -20px;padding:8px 20px;
  border-top:1px solid var(--line)}
[data-layout=regular]:not([data-screen=waiting]) .stage{order:0}
[data-layout=regular][data-tone=busy] .stage{min-height:214px}
[data-layout=regular] .qr{width:214px;max-width:100%;padding:8px;border:1px solid var(--line);
  border-radius:min(var(--round),12px)}
.foot:has(>[hidden]){justify-content:center}
[data-layout=compact] .side{display:flex;flex-direction:column;gap:4px;align-self:stretch;
  justify-content:center;padding-inline-end:5px}
[data-layout=compact] .stage{order:-1}
[data-layout=compact][data-tone=busy] .stage{width:clamp(114px,100cqw - 186px,var(--code,152px))}
[data-layout=compact] .qr{border-radius:min(var(--round),7px)}
[data-layout=compact] .title{font-size:1.0625em}
[data-layout=compact] .pairs :is(div,dt,dd){display:inline}
[data-layout=compact] .pairs div::after{content:"\\a";white-space:pre}
[data-layout=compact] .foot{justify-content:start}
[data-layout=compact] .foot{margin-top:auto}
[data-layout=compact]:not([data-tone=busy]) .message{margin-block:auto}
[data-layout=compact] .button{padding:.4em .75em}
[data-layout=compact] .link{margin:-.25em 0}
[data-fit]:not([data-fit="0"]){--code:132px}
@media (pointer:coarse){.card{--code:114px!important}}
[data-fit]:not([data-fit="0"]) .body{font-size:.875em}
[data-fit]:not([data-fit="0"]) [role=timer]{display:none}
[data-fit]:not([data-fit="0"]) .side{gap:0}
[data-fit]:not([data-fit="0"]) .title{font-size:1em;line-height:1.2}
[data-layout=compact] .foot{gap:0 12px}
[data-tone=busy]:not([data-fit="0"]) .body{position:absolute;clip-path:inset(50%)}
[data-fit]:not([data-fit="0"]) .or,[data-fit="2"] .brand,[data-fit="3"] :is(.brand,.same){display:none}
`

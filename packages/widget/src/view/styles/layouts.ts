/**
 * The layouts. The host has size containment, so the box that the page reserves decides the layout
 * and content moves nothing on the page. `compact` fits the 360 × 168 px of the container contract:
 * the QR code of 136 px has modules of at least 2 px up to version 10. `fit.ts` chooses, and adds
 * classes until nothing overflows: what the card then leaves out, the phone shows. Before that, a
 * card is invisible unless it has to name a failure.
 *
 * The message is at the start, and the buttons are at the end, so neither moves the QR code between
 * them. An end is one group in the middle, with room for three lines, and for a button where it has
 * none, so that the next end moves nothing. `.room` also contains the texts of the other screens,
 * invisible: it has the height of the longest one.
 */
export const LAYOUTS = `
:host{display:block;container-type:size;contain-intrinsic-size:360px 168px;min-width:0;
  min-height:168px;max-width:360px}
.card{all:initial;--round:calc(var(--radius,14)*1px);box-sizing:border-box;position:relative;
  display:flex;flex-direction:column;gap:12px;
  width:100%;max-width:360px;padding:16px 20px 0;border:1px solid var(--line);
  border-radius:var(--round);background:var(--surface);color:var(--ink);
  font:medium/1.45 var(--font,system-ui,sans-serif);text-align:center;-webkit-text-size-adjust:100%}
[data-tone=busy]:not([data-layout]){height:0;padding:0;border:0;overflow:hidden;opacity:0}
.card:not([data-layout]) :is(.stage,.foot,.over){display:none}
.side{display:contents}
.side>*,.stage{flex-shrink:0}
.room,.rest{display:grid}
.room>*,.rest>*{grid-area:1/1}
.room{align-content:start}
.rest{visibility:hidden}
.rest i::before{content:attr(data-title)}
.rest i::after{content:attr(data-body)}
.card:not([data-tone=busy]) .rest{display:none}
.stage{order:1;container-type:size;display:flex;flex-direction:column;gap:8px;align-items:center;
  justify-content:center;flex:1 0 88px}
[data-tone=busy] .stage{min-width:114px;flex-basis:140px;max-height:232px;margin-block:auto}
.qr{width:min(100cqw,100cqh);height:min(100cqw,100cqh)}
.same{order:2}
.retry{order:3;margin-bottom:20px}
.foot{order:4;min-width:min-content;margin-inline:-20px;padding:8px 20px;border-top:1px solid var(--line)}
.brand{justify-content:center}
[data-layout=regular] .qr{padding:8px;border:1px solid var(--line);border-radius:min(var(--round),12px)}
[data-layout=regular]:not([data-tone=busy]) .stage{flex:0 0 5.5em;margin-top:auto}
[data-layout=regular]:not([data-tone=busy]) .room{order:2;margin-bottom:auto;min-height:5.75em}
[data-layout=regular]:not([data-tone=busy]) .retry[hidden]{display:block!important;visibility:hidden}
.small[data-layout=regular]{gap:8px;padding-top:12px}
.small[data-layout=regular][data-tone=busy] .stage{flex-basis:var(--code,122px)}
.small[data-layout=regular] .qr{padding:0}

.card[data-layout=compact]{display:grid;grid-template:minmax(0,1fr)/auto minmax(0,1fr);gap:12px;
  padding:7px;line-height:1.3;text-align:start}
[data-layout=compact]>:not(.help){font-size:.875em}
[data-layout=compact] .side{display:flex;flex-direction:column;gap:4px;min-width:128px;
  padding-inline-end:5px}
[data-layout=compact] .room{flex-grow:1}
[data-layout=compact] .stage{order:-1;width:77px;max-height:none;margin:0}
[data-layout=compact][data-tone=busy] .stage{align-self:center;aspect-ratio:1;
  width:clamp(114px,100cqw - 186px,var(--code,136px))}
[data-layout=compact] .here.here{height:100%;padding:.25em;font-size:.9375em}
[data-screen=browser_frame][data-layout]:not(.none){display:flex;flex-direction:column}
[data-screen=browser_frame][data-layout] .stage.stage.stage{order:1;flex:1 0 9em;width:100%;
  max-height:none;margin:0;aspect-ratio:auto}
[data-screen=browser_frame][data-layout=compact] .side{display:contents}
[data-screen=browser_frame][data-layout] .room,
[data-screen=browser_frame][data-layout=compact] .brand{position:absolute;clip-path:inset(50%)}
[data-layout=compact] .qr{border-radius:min(var(--round),7px)}
[data-layout=compact] .brand{justify-content:start}
[data-layout=compact]{--title:1.0625em}
[data-layout=compact]:not([data-tone=busy]) .side{justify-content:center}
[data-layout=compact]:not([data-tone=busy]) .room{flex-grow:0;min-height:4em}
[data-layout=compact] .button:not(.help *){padding:.4em .75em}
[data-layout=compact] .retry{margin:0}
[data-layout=compact] .foot{margin:0;padding:.25em 0 0;border:0}
[data-layout=compact] .link{padding:0}
.card.small{--title:1em;--body:.875em;--space:0}
.small .side{gap:1px}
.small[data-layout=compact] .foot{gap:8px}
.small .or,.bare .same p,.below .brand,.poor .same,
.poor:not([data-tone=busy]) .stage{display:none}
:is(.brief:not(.poor),.below)[data-tone=busy]{--rest:none}
:is(.brief:not(.poor),.below)[data-tone=busy] .body,.lone:is([data-screen=waiting],[data-screen^=browser]) .room,
.lone .body{position:absolute;clip-path:inset(50%)}
@media (pointer:coarse){.card{--code:114px}.card.poor[data-tone=busy]{--rest:none}
  .poor[data-tone=busy] .body{position:absolute;clip-path:inset(50%)}}
.lone .rest{display:none}
.card.poor:not([data-tone=busy]){grid-template-columns:minmax(0,1fr);text-align:center}
.poor:not([data-tone=busy]) .brand.brand{justify-content:center}
.card.below{display:flex;gap:2px;padding:4px 7px;text-align:center}
.below .side{display:contents}
.card.below[data-tone=busy] .stage{flex:1 0 114px;order:1;width:100%;aspect-ratio:auto}
.lone[data-tone=busy]:not([data-screen=waiting],[data-screen^=browser]) .room{position:absolute;inset:4px 7px auto}
.lone:not([data-screen=waiting]) .badge{font-size:.75em}
.lone:not([data-screen=waiting]) .stage{justify-content:end}

.over{position:absolute;inset:0;pointer-events:none;display:none;flex-direction:column;gap:8px;align-items:center;
  justify-content:safe center;padding:8px}
[data-screen=starting] .over,.none .over{display:flex}
[data-screen=starting] :is(.side>:not(.foot),.stage){opacity:0}
[data-screen=starting]:not(.none) .lack,.none>:not(.over),.none .over>:not(.lack){display:none}
.lone,.none{overflow:hidden}
`

/**
 * The styles. Sizes are in em from the reader's default size (`font: medium`), so that text zoom
 * works and the page's root size has no effect. The color scheme is the one that the page declares:
 * a page that declares none is light, whatever the system prefers, and gets a light widget. A color
 * for both schemes reads `light/dark`.
 *
 * On a screen without a QR code the picture comes first. While the phone is busy, the card keeps
 * the height that it had with the QR code.
 */
const STYLES = `
:host{display:block;min-height:168px;max-width:360px}
*{box-sizing:border-box}
[hidden]{display:none!important}
.card{all:initial;color-scheme:inherit;direction:inherit;box-sizing:border-box;display:flex;flex-direction:column;gap:16px;
  width:100%;max-width:360px;min-height:288px;padding:24px 20px 0;border:1px solid var(--line);border-radius:14px;
  background:var(--surface);color:var(--ink);font:medium/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
  text-align:center;overflow-wrap:anywhere;-webkit-text-size-adjust:100%;
  --surface:#fff/#161c23;--ink:#15202b/#e9eef3;--muted:#51606f/#a8b4c1;--line:#d8dee6/#37424e;--link:#0b57d0/#8ab4f8;--onlink:#fff/#0c1a30;--tone:#0b57d0/#8ab4f8;--tint:#eaf1fd/#1c2a40}
.card[data-tone=good]{--tone:#11692f/#81c995;--tint:#e4f4e9/#1a3325}
.card[data-tone=calm]{--tone:#4a5967/#b7c2cd;--tint:#edf1f5/#252e38}
.card[data-tone=warn]{--tone:#8a4b00/#f5c26b;--tint:#fdf1de/#392d17}
.card[data-tone=stop]{--tone:#b3261e/#f2a7a0;--tint:#fdeceb/#3d2321}
.card:not([data-screen=waiting]){justify-content:center;padding-bottom:24px}
.card:not([data-screen=waiting]) .stage{order:-1;min-height:0;padding-top:8px}
.card[data-tone=busy]{min-height:398px}
.card[data-tone=busy]:not([data-screen=waiting]){padding-bottom:0}
.card[data-tone=busy]:not([data-screen=waiting]) .stage{margin-top:auto}
p{margin:0}
.title{font-size:1.1875em;font-weight:650;line-height:1.25;letter-spacing:-.01em}
.body{margin-top:.375em;min-height:2.9em;font-size:.9375em;color:var(--muted);text-wrap:balance}
.button{display:block;padding:.7em 1em;border-radius:10px;background:var(--link);color:var(--onlink);font-weight:600;text-decoration:none}
.button:hover{filter:brightness(1.08)}
.or{margin-top:1em;font-size:.875em;color:var(--muted)}
.stage{display:flex;flex-direction:column;gap:16px;align-items:center;justify-content:center;min-height:214px}
.qr{display:block;width:214px;max-width:100%;height:auto;padding:8px;border:1px solid var(--line);border-radius:12px;background:#fff;forced-color-adjust:none}
.badge{display:grid;place-items:center;width:88px;height:88px;border-radius:50%;background:var(--tint);color:var(--tone)}
.badge svg{width:44px;height:44px;fill:none;stroke:currentColor;stroke-width:1.75;stroke-linecap:round;stroke-linejoin:round}
.phone{animation:breathe 2.4s ease-in-out infinite}
.spinner svg{animation:turn 1.1s linear infinite}
.check path{stroke-width:2.25;stroke-dasharray:24;animation:draw .45s ease-out}
.note{font-size:.875em;color:var(--muted)}
.foot{display:flex;flex-wrap:wrap;gap:4px 16px;justify-content:space-between;align-items:center;min-height:44px;margin:auto -20px 0;padding:6px 20px;
  border-top:1px solid var(--line);font-size:.875em;color:var(--muted);font-variant-numeric:tabular-nums}
.foot:has(>[hidden]){justify-content:center}
.link{padding:.25em 0;color:var(--link);text-underline-offset:.2em}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:6px}
.button:focus-visible{border-radius:10px}
@keyframes turn{to{transform:rotate(1turn)}}
@keyframes breathe{50%{box-shadow:0 0 0 12px var(--tint)}}
@keyframes draw{from{stroke-dashoffset:24}to{stroke-dashoffset:0}}
@media (prefers-reduced-motion:reduce){.phone,.check path{animation:none}.spinner svg{animation-duration:6s}}
@media (prefers-contrast:more){.card{--muted:var(--ink);--line:currentColor}}
@media (forced-colors:active){.button,.badge{border:1px solid currentColor}}
`

/**
 * Browsers before 2024 do not know `light-dark()` and would drop the colors. There the widget is
 * light.
 */
function themed(css: string): string {
  const knowsBoth = CSS.supports('color:light-dark(red,red)')
  return css.replace(/(#\w+)\/(#\w+)/g, knowsBoth ? 'light-dark($1,$2)' : '$1')
}

/** One sheet for all widgets of the page; constructed, so that no style-src is needed. */
export function sheet(): CSSStyleSheet {
  const made = new CSSStyleSheet()
  made.replaceSync(themed(STYLES))
  return made
}

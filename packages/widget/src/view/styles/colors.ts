/**
 * The colors. The color scheme is the one that the page declares, or the theme of `appearance`: a
 * page that declares none is light, whatever the system prefers, and gets a light widget.
 *
 * Each tone is one color. Its lightness is bounded, so that text in it, and the surface on it,
 * contrast at least 4.5:1 whatever accent the page sets: below an OKLCH lightness of 0.51 every
 * hue does on white, even where its chroma leaves sRGB. On the dark surface the bound is 0.7, with
 * less chroma. A test measures both.
 */
export const COLORS = `
.card{color-scheme:var(--theme,inherit);--surface:#fff;--ink:#15202b;--muted:#51606f;--line:#d8dee6;
  --link:#0b57d0;--tone:var(--base,var(--link));
  --tint:color-mix(in srgb,var(--tone) 12%,var(--surface))}
.card[data-tone=good]{--base:#11692f}
.card[data-tone=calm]{--base:#4a5967}
.card[data-tone=warn]{--base:#8a4b00}
.card[data-tone=stop]{--base:#b3261e}
@supports (color:light-dark(oklch(from red l c h),red)){
.card.card{--surface:light-dark(#fff,#161c23);--ink:light-dark(#15202b,#e9eef3);
  --muted:light-dark(#51606f,#a8b4c1);--line:light-dark(#d8dee6,#37424e);
  --link:light-dark(oklch(from var(--accent,#0b57d0) min(l,.51) c h),
    oklch(from var(--accent,#0b57d0) max(l,.7) calc(c*.6) h));
  --tone:light-dark(oklch(from var(--base,var(--link)) min(l,.51) c h),
    oklch(from var(--base,var(--link)) max(l,.7) calc(c*.6) h))}
}
@media (prefers-contrast:more){.card.card{--muted:var(--ink);--line:currentColor}}
@media (forced-colors:active){.button,.badge{border:1px solid}}
`

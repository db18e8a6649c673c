import { type DemoFrame, inDemo } from './demo-frame.ts'
import { type Markup, markup } from './markup.ts'

/** The frame of every page of the bank. In a demo, the phone and the activity are around it. */
export function layout(
  title: string,
  content: {
    readonly head?: Markup
    readonly main: Markup
    readonly frame?: DemoFrame | undefined
  },
): string {
  const { head, main, frame } = content
  const bankPage = markup`<header class="bank">
  <a href="/" class="brand"><svg viewBox="0 0 24 24" width="28" height="28" aria-hidden="true"><path d="M3 17c2 0 2-1.6 4.5-1.6S10 17 12 17s2.2-1.6 4.5-1.6S19 17 21 17M12 3v9m0-9 6 9H6z" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round" stroke-linecap="round"/></svg>Harbour Bank</a>
  <span class="demo">Example, not a bank</span>
</header>
<main>
${main}
</main>`
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Harbour Bank</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
${frame && markup`<link rel="stylesheet" href="/demo.css">`}
${head}
</head>
<body>
${frame === undefined ? bankPage : inDemo(frame, bankPage)}
</body>
</html>
`
  return page.markup
}

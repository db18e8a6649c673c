import { createHash } from 'node:crypto'

/** The icon of all documents, by the address that browsers try. */
export const ICON_PATH = '/favicon.ico'

const STYLE = `:root{color-scheme:light dark;font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;--surface:light-dark(#fff,#12181f);--ground:light-dark(#f4f6f8,#0b1015);--ink:light-dark(#15202b,#e9eef3);--muted:light-dark(#51606f,#a8b4c1);--line:light-dark(#d8dee6,#37424e);--accent:light-dark(#0b57d0,#8ab4f8)}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);overflow-wrap:anywhere}
main{max-width:34rem;min-height:100vh;margin:0 auto;padding:1.5rem 1.25rem;background:var(--surface)}
img{display:block;width:3rem;height:3rem}
h1{margin:1rem 0 .5rem;font-size:1.5rem;line-height:1.25}
h2{margin:1.5rem 0 .25rem;font-size:1.0625rem}
h2:target{outline:3px solid var(--accent);outline-offset:3px;border-radius:4px;scroll-margin-top:1.5rem}
h2:target+p{margin-top:.5rem}
p{margin:0 0 .25rem}
.lead,.muted{color:var(--muted)}
a{color:var(--accent)}
a:focus-visible{outline:3px solid;outline-offset:2px;border-radius:4px}
@media (min-width:40rem){main{min-height:0;margin:3rem auto;padding:2rem;border:1px solid var(--line);border-radius:1rem}}`

const styleHash = createHash('sha256').update(STYLE).digest('base64')

/** The policy of a document of the service that only has text and links. */
export const DOCUMENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** A document of the service, in English, whose content is HTML. */
export function documentPage(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${ICON_PATH}">
<style>${STYLE}</style>
</head>
<body><main>
<img src="${ICON_PATH}" alt="">
<h1>${title}</h1>
${content}
</main></body>
</html>
`
}

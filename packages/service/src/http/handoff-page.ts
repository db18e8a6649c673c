import { createHash } from 'node:crypto'

const STYLE = `:root{color-scheme:light dark;font:1.0625rem/1.5 system-ui,sans-serif}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;box-sizing:border-box}
main{max-width:26rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .75rem}
a{display:inline-block;padding:.75rem 1.25rem;border-radius:.5rem;background:#14532d;color:#fff;text-decoration:none;font-weight:600}
a:focus-visible{outline:3px solid #60a5fa;outline-offset:2px}
p{margin:0 0 1.25rem}`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/**
 * The page behind a handoff link, for a phone on which the app did not open by itself. Opening it changes
 * nothing, because messengers fetch links to preview them.
 *
 * Only a session id and a nonce in their exact forms reach the page; anything else gets the page without a button.
 */
export function handoffPage(link: { scheme: string; sessionId: unknown; nonce: unknown }): {
  html: string
  contentSecurityPolicy: string
} {
  const { scheme, sessionId, nonce } = link
  const whole =
    matches(sessionId, /^sess_[0-9A-Za-z]{22}$/) && matches(nonce, /^[0-9A-Za-z_-]{43}$/)
  const body = whole
    ? `<h1>Approve with your phone</h1>
<p>Open the app to see who is asking and for what. Nothing is approved until you say so there.</p>
<a href="${scheme}://bond?session_id=${sessionId}&amp;nonce=${nonce}">Open the app</a>`
    : `<h1>This link is not complete</h1>
<p>Go back to the page you came from and scan its code, or follow its link again.</p>`
  return {
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>Approve with your phone</title><style>${STYLE}</style></head>
<body><main>${body}</main></body></html>
`,
  }
}

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value)
}

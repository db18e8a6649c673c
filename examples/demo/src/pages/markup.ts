/** Escapes text for HTML. */
export function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** The frame of every page of the demo. `head` and `body` are HTML. */
export function layout(facts: {
  readonly title: string
  readonly token: string
  readonly head: string
  readonly body: string
}): string {
  const { title, token, head, body } = facts
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="demo-token" content="${escape(token)}">
<title>${escape(title)}</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
${body}
</body>
</html>
`
}

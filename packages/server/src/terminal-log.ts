/** A destination for text, such as `process.stdout`. */
export interface TextStream {
  write(text: string): unknown
}

/** What a request line says, in this order; other members follow as `name=value`. */
const REQUEST_MEMBERS = ['method', 'route', 'status', 'ms', 'reason', 'step'] as const
const HEAD_MEMBERS = ['level', 'time', 'msg', 'err']

/**
 * Turns the log's JSON lines into short ones for a terminal:
 * `14:03:07.120 info  POST /api/v1/sessions 201 3.4 ms requestId=req_…`.
 */
export function terminalLines(stream: TextStream): TextStream {
  return { write: (line) => stream.write(`${formatLogLine(line)}\n`) }
}

/** One JSON line of the log as text for a terminal. A line that is not JSON is returned escaped. */
export function formatLogLine(line: string): string {
  let entry: Record<string, unknown>
  try {
    entry = JSON.parse(line) as Record<string, unknown>
  } catch {
    return visible(line.trimEnd())
  }
  const { level, time, msg, err } = entry
  const isRequest = msg === 'request'
  const named = isRequest ? REQUEST_MEMBERS.filter((name) => entry[name] !== undefined) : []
  const rest = Object.entries(entry).filter(
    ([name]) => !HEAD_MEMBERS.includes(name) && !(named as readonly string[]).includes(name),
  )
  return [
    // The date is the day on which the operator reads the terminal.
    String(time).slice(11, 23),
    String(level).padEnd(5),
    ...(isRequest ? named.map((name) => memberText(name, entry[name])) : [String(msg ?? '')]),
    ...rest.map(([name, value]) => `${name}=${plain(value)}`),
    ...(err === undefined ? [] : [stackOf(err)]),
  ]
    .map(visible)
    .join(' ')
}

function memberText(name: (typeof REQUEST_MEMBERS)[number], value: unknown): string {
  if (name === 'ms') return `${String(value)} ms`
  return name === 'step' ? `(${plain(value)})` : plain(value)
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function stackOf(error: unknown): string {
  const { stack, message } = error as { stack?: string; message?: string }
  return `\n${stack ?? message ?? JSON.stringify(error)}`
}

/**
 * Escapes everything that could move the cursor, change colors or reorder text; keeps line breaks.
 */
function visible(text: string): string {
  return text.replaceAll(
    /[^\P{C}\n]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

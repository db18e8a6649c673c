/**
 * Parses a JSON object from UTF-8. Undefined for any other text, and for an object that names a
 * member twice at any depth: two readers could take two different values.
 */
export function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const parsed = parse(bytes)
  if (parsed === undefined || hasDuplicateMember(parsed.text)) return undefined
  const { value } = parsed
  return isObject(value) ? value : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parse(bytes: Uint8Array): { text: string; value: unknown } | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return { text, value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** A string, and the colon that makes it the name of a member; or a bracket. */
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g

/** Whether a valid JSON text has an object with two members of one name. */
function hasDuplicateMember(text: string): boolean {
  const open: Set<string>[] = []
  for (const [token, literal, colon] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push(new Set())
    else if (token === '}' || token === ']') open.pop()
    else if (literal !== undefined && colon !== undefined) {
      const name = JSON.parse(literal) as string
      const names = open.at(-1)
      if (names?.has(name) === true) return true
      names?.add(name)
    }
  }
  return false
}

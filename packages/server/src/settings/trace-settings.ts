import type { SettingReader } from './setting-reader.ts'

/** Where traces go, and how many. */
export interface TraceSettings {
  readonly endpoint: string
  /** Secret. */
  readonly headers: Readonly<Record<string, string>>
  /** The share of the sessions that are traced, 0 to 1. */
  readonly ratio: number
}

/** Reads the settings of traces, and reports those that are wrong. */
export function readTraces({ given, wrong }: SettingReader): TraceSettings | undefined {
  const endpoint = given('BONDED_TRACES_ENDPOINT')
  if (endpoint !== undefined && !isCollector(endpoint)) wrong('BONDED_TRACES_ENDPOINT')
  const headers = parseHeaders(given('BONDED_TRACES_HEADERS'))
  if (headers === undefined) wrong('BONDED_TRACES_HEADERS')
  const ratio = given('BONDED_TRACES_RATIO') ?? '1'
  if (!/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/.test(ratio)) wrong('BONDED_TRACES_RATIO')
  return endpoint === undefined
    ? undefined
    : { endpoint, headers: headers ?? {}, ratio: Number(ratio) }
}

/** A password in the URL would be printed with it; a header is a secret. */
function isCollector(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return ['http:', 'https:'].includes(protocol) && username === '' && password === ''
}

function parseHeaders(text: string | undefined): Readonly<Record<string, string>> | undefined {
  if (text === undefined) return {}
  const pairs = text.split(',').map((part) => /^\s*([\w-]+)=([\x20-\x7e]+)$/.exec(part))
  if (pairs.includes(null)) return undefined
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2]?.trim() ?? '']))
}

import type { Members } from './encoding.ts'

/** Long enough for an implementation that repeats a lost request. */
const TIMEOUT_MS = 60_000

/** Sends a command to a control adapter. Undefined if the adapter does not know the command. */
export async function tryCommand(
  adapter: string,
  name: string,
  body: object = {},
): Promise<Members | undefined> {
  const response = await fetch(`${adapter.replace(/\/$/, '')}/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const text = await response.text()
  if (response.status === 404) return undefined
  if (!response.ok) throw new Error(`the adapter answers ${name} with ${response.status}: ${text}`)
  return JSON.parse(text) as Members
}

/** The same for a command that every adapter of the target knows. */
export async function command(adapter: string, name: string, body?: object): Promise<Members> {
  const answer = await tryCommand(adapter, name, body)
  if (answer === undefined) throw new Error(`the adapter does not know ${name}`)
  return answer
}

import { type FetchLike, PhoneError } from '@bonded/phone'

/**
 * The time of day of the service at an origin.
 *
 * @throws {PhoneError} `unreachable`, `refused`, `answer_unreadable`
 */
export async function serviceTime(fetch: FetchLike, origin: string): Promise<number> {
  const request = { method: 'GET', headers: {}, redirect: 'error' } as const
  const response = await fetch(`${origin}/version`, request).catch((cause: unknown) => {
    throw new PhoneError('unreachable', { cause })
  })
  const { status } = response
  if (status !== 200) throw new PhoneError('refused', { reason: 'no_server_time', status })
  const time = Date.parse(serverTimeOf(await response.text()) ?? '')
  if (Number.isNaN(time))
    throw new PhoneError('answer_unreadable', { reason: 'server_time', status })
  return time
}

function serverTimeOf(text: string): string | undefined {
  try {
    const { server_time } = JSON.parse(text) as { server_time?: string }
    return server_time
  } catch {
    return undefined
  }
}

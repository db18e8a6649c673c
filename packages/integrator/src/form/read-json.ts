/** Enough for every form. A larger body is not read to its end. */
const FORM_MAX_BYTES = 65_536
/** The service waits as long for a body. A client that drips holds a handler no longer. */
const BODY_TIMEOUT_MS = 10_000

/**
 * The JSON of a request. Undefined for other content, too many bytes, invalid JSON, and a body that
 * has not arrived in time.
 */
export async function readJson(
  request: Pick<Request, 'headers' | 'body'>,
  late: AbortSignal = AbortSignal.timeout(BODY_TIMEOUT_MS),
): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(?:;|$)/i.test(type) || request.body === null) return undefined
  const reader = request.body.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const cancel = () => void reader.cancel().catch(() => {})
  late.addEventListener('abort', cancel)
  let text = ''
  let length = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      // The beginning of a body can be JSON by itself.
      if (late.aborted) return undefined
      if (done) return JSON.parse(text + decoder.decode()) as unknown
      length += value.length
      if (length > FORM_MAX_BYTES) break
      text += decoder.decode(value, { stream: true })
    }
    await reader.cancel()
    return undefined
  } catch {
    // A client that disconnects and one that sends no JSON have the same effect: there is no form.
    return undefined
  } finally {
    late.removeEventListener('abort', cancel)
  }
}

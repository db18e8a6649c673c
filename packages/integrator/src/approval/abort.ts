/** A promise that rejects when the signal aborts, until its `end`. */
export function abortOf(signal: AbortSignal | undefined) {
  let abort = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal?.reason as Error)
  })
  aborted.catch(() => {})
  if (signal?.aborted === true) abort()
  signal?.addEventListener('abort', abort)
  return { aborted, end: () => signal?.removeEventListener('abort', abort) }
}

/** A span in the JSON encoding of OTLP. */
export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: 1 | 2 | 3
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly OtlpAttribute[]
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status: { readonly code: 0 | 2 }
}

export interface OtlpAttribute {
  readonly key: string
  readonly value: { readonly stringValue: string } | { readonly intValue: string }
}

/** Where spans go. */
export interface ExportTarget {
  /** The URL of the collector's traces, for example `http://127.0.0.1:4318/v1/traces`. */
  readonly endpoint: string
  /** Usually a credential. */
  readonly headers: Readonly<Record<string, string>>
  readonly resource: readonly OtlpAttribute[]
  readonly version: string
  /** Called once when the collector stops accepting spans, until it accepts some again. */
  readonly onFailure: (failure: unknown) => void
  /** Called for spans that are lost: the queue was full, or the collector rejected their batch. */
  readonly onDrop?: (count: number) => void
}

/** Spans in memory: some 2 MB. When the collector is slow, further spans are dropped. */
const MAX_QUEUED = 4_096
const BATCH = 512
const FLUSH_EVERY_MS = 2_000
const TIMEOUT_MS = 5_000

/** Sends spans in batches to an OTLP/HTTP collector. */
export class OtlpExporter implements AsyncDisposable {
  readonly #target: ExportTarget
  readonly #timer: NodeJS.Timeout
  #queue: OtlpSpan[] = []
  #sending: Promise<void> | undefined
  #failed = false
  /** No batch begins after this time, in milliseconds of the process. */
  #endsAtMs = Number.POSITIVE_INFINITY

  constructor(target: ExportTarget) {
    this.#target = target
    this.#timer = setInterval(() => void this.flush(), FLUSH_EVERY_MS)
    this.#timer.unref()
  }

  add(span: OtlpSpan): void {
    if (this.#queue.length >= MAX_QUEUED) {
      this.#target.onDrop?.(1)
      return
    }
    this.#queue.push(span)
    if (this.#queue.length >= BATCH) void this.flush()
  }

  /** Sends what is queued, one batch at a time. A batch that the collector rejects is dropped. */
  flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  /** Sends what is queued, but begins no batch after 5 s: a shutdown waits for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    this.#endsAtMs = performance.now() + TIMEOUT_MS
    await this.flush()
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0 && performance.now() < this.#endsAtMs) {
      const batch = this.#queue.slice(0, BATCH)
      this.#queue = this.#queue.slice(BATCH)
      try {
        await this.#send(batch)
        this.#failed = false
      } catch (failure) {
        // The rest waits for the next time, or is dropped when the queue is full.
        if (!this.#failed) this.#target.onFailure(failure)
        this.#failed = true
        this.#target.onDrop?.(batch.length)
        return
      }
    }
  }

  async #send(spans: readonly OtlpSpan[]): Promise<void> {
    const { endpoint, headers, resource, version } = this.#target
    const scopeSpans = [{ scope: { name: 'bonded', version }, spans }]
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ resourceSpans: [{ resource: { attributes: resource }, scopeSpans }] }),
      // A redirect would take the credential to another server.
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`the trace collector answered ${response.status}`)
  }
}

/** What the gate needs of an answer: a part of the platform's `Response`. */
export interface AnswerLike {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

/** What the gate needs of `fetch`. It must honour `signal`: that is how a try ends that nobody answers. */
export type FetchLike = (
  url: string,
  init: {
    readonly method: string
    readonly headers: Record<string, string>
    readonly body?: string
    readonly redirect: 'manual'
    readonly signal: AbortSignal
  },
) => Promise<AnswerLike>

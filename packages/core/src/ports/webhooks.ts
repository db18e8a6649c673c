import type { AttemptResult } from '../domain/webhooks.ts'

/** One attempt to deliver an event. */
export interface WebhookMessage {
  readonly url: string
  readonly id: string
  readonly body: string
  readonly scheme: 'v1' | 'v1a'
  /** Each of them signs. */
  readonly secrets: readonly string[]
}

/** Signs events and sends them to the endpoints of tenants. */
export interface WebhookTransport {
  /**
   * Sends the event once. Never rejects: every failure is a result.
   *
   * @param signal ends the attempt, which then reads as closed
   */
  send(message: WebhookMessage, signal: AbortSignal): Promise<AttemptResult>
  /** A new secret, and what the tenant verifies with. */
  newSecret(scheme: WebhookMessage['scheme']): {
    readonly secret: string
    readonly verifier: string
  }
  /**
   * What prevents a URL from being an endpoint; undefined if nothing does. A tenant cannot choose
   * the hosts that the operator has allowed: they are inside the operator's network, and the log
   * shows their responses.
   */
  urlProblem(url: string, chosenBy: 'tenant' | 'operator'): string | undefined
}

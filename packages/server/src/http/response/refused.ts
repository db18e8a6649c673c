import type { Refusal } from '@bonded/core/domain/refusal'

/** Carries a refusal through fastify's hooks, which can stop a request only by an error. */
export class Refused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.reason)
    this.refusal = refusal
  }
}
